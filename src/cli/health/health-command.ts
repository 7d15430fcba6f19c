import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { get as getOverTls } from 'node:https';
import { configFlags, loadConfig } from '../../config/load.ts';
import type { Config } from '../../config/schema.ts';
import { parseFlags, usage } from '../../lib/flags.ts';
import { formatListenAddress } from '../../lib/listen-address.ts';
import type { Command } from '../command.ts';
import { dialled } from '../doctor/dial.ts';

const TIMEOUT_MS = 4000;
const HEALTHY = 200;

const HELP = `
Usage: postern health [FLAGS]

Asks the server on this machine whether it is healthy, for container platforms and other supervisors. Prints the answer of /healthz.
"postern doctor" says what is wrong.

The command takes the settings of "postern server" (--api-listen, --config and so on) to find the server.
Exit code: 0 healthy, 1 not healthy or no answer, 2 wrong usage.
`;

export const healthCommand: Command = {
  help: HELP,
  run: async (args, context) => {
    const { flags, positionals } = parseFlags(args, configFlags);
    if (positionals[0] !== undefined) throw usage('postern health takes no arguments, only flags');
    const { config } = loadConfig({ flags, env: context.env });
    try {
      const { status, text } = await ask(config);
      context.print(text.trim());
      return status === HEALTHY ? 0 : 1;
    } catch (error) {
      const reason = error instanceof Error ? error.message || error.name : String(error);
      context.warn(`postern: no answer from ${formatListenAddress(dialled(config.api_listen))}: ${reason}`);
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
