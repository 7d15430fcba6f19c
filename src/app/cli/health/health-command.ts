import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { get as getOverTls } from 'node:https';
import { networkReason } from '../../../client/call-errors.ts';
import { get } from '../../../kit/http/node-http.ts';
import { formatListenAddress } from '../../../kit/net/listen-address.ts';
import type { Config } from '../../settings/schema.ts';
import { type Command, type CommandSyntax, INVALID_USAGE, parseCommand, SETTINGS_EXIT_CODE } from '../command.ts';
import { dialled } from '../doctor/dial.ts';
import { serverSettings, settingsGroup } from '../server-settings.ts';

const TIMEOUT_MS = 4000;
const HEALTHY = 200;

const SYNTAX: CommandSyntax = {
  name: 'health',
  about:
    'Asks the server on this machine whether it is healthy, for container platforms and other supervisors. Prints the response of /healthz. "postern doctor" says what is wrong.',
  groups: [settingsGroup('to find the server')],
  exitCodes: { 0: 'healthy', 1: 'not healthy or no answer', 2: INVALID_USAGE, ...SETTINGS_EXIT_CODE },
};

export const healthCommand: Command = {
  syntax: SYNTAX,
  run: async (args, context) => {
    const { flags } = parseCommand(SYNTAX, args);
    const { config } = await serverSettings(flags, context);
    try {
      const { status, text } = await ask(config);
      context.print(text.trim());
      return status === HEALTHY ? 0 : 1;
    } catch (error) {
      const address = formatListenAddress(dialled(config.api_listen));
      const reason =
        error instanceof Error && error.name === 'TimeoutError' ? 'it does not answer' : networkReason(error);
      context.warn(`postern: cannot reach ${address}: ${reason}. Start the server, or correct api_listen`);
      return 1;
    }
  },
};

async function ask(config: Config): Promise<{ readonly status: number; readonly text: string }> {
  const { host, port } = dialled(config.api_listen);
  const options = { host, port, path: '/healthz', timeout: TIMEOUT_MS, signal: AbortSignal.timeout(TIMEOUT_MS) };
  // The certificate may be for another name than this address; nothing secret is sent.
  const request = config.api_tls_cert === null ? get(options) : getOverTls({ ...options, rejectUnauthorized: false });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return { status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() };
}
