import { usage } from '../../lib/flags.ts';
import { CLAIM, claimsOf } from '../access/claim-flags.ts';
import { openTransport } from '../api/open-transport.ts';
import { runWithApi } from '../api/run-with-api.ts';
import { createTextSource } from '../api/text-source.ts';
import { isJsonOutput } from '../changes/output-flag.ts';
import type { Command } from '../command.ts';
import { API_EXIT_CODES, type CommandSyntax } from '../command-syntax.ts';
import { outputFlag } from '../output/output-format.ts';
import { parseCommand } from '../parse-command.ts';
import { CONNECTION, fileFlag, textFlag } from '../shared-flags.ts';
import { explanationLines, type ShownExplanation } from './explanation-lines.ts';
import { HEADER, headersOf } from './header-flags.ts';

const SYNTAX: CommandSyntax = {
  name: 'explain',
  usage: ['URL|HOST'],
  hasOperands: true,
  completedBy: ['https_edge'],
  about:
    'Explains what the edge would do with a request, and why: the route it takes and why the others do not match, what each module decides, which targets may get it, and which headers the upstream would see. Nothing is sent, fetched, stored or counted.',
  flags: [
    textFlag('method', 'METHOD', 'Method of the request.', { default: 'GET' }),
    HEADER,
    textFlag('from', 'ADDRESS', 'IP address of the client.', { default: '127.0.0.1' }),
    textFlag('as', 'EMAIL', 'Email address of a person who is logged in, whether or not they ever were.', {
      completedBy: ['user_account'],
    }),
    CLAIM,
    fileFlag('client-cert', 'PEM file with a client certificate.'),
    outputFlag(['table', 'json']),
  ],
  groups: [CONNECTION],
  notes: [
    'The API key needs explain:read and the read scopes of what it shows; *:read has all of them. "postern requests show ID" explains a request that happened.',
  ],
  examples: [
    'postern explain https://app.example.com/admin',
    'postern explain https://app.example.com/ --as ana@example.com --from 203.0.113.7',
  ],
  exitCodes: API_EXIT_CODES,
};

/** Why a request would be answered as it would. */
export const explainCommand: Command = {
  syntax: SYNTAX,
  run: (args, context) => {
    const parsed = parseCommand(SYNTAX, args);
    const { flags, positionals } = parsed;
    const [claims, headers] = [claimsOf(parsed), headersOf(parsed)];
    const [url, ...more] = positionals;
    if (url === undefined || more.length > 0)
      throw usage('postern explain takes one URL or host, such as https://shop.example.com/cart');
    const isJson = isJsonOutput(flags);
    const [method, address, email, file] = ['method', 'from', 'as', 'client-cert'].map((name) => flags.get(name));
    if (email === undefined && Object.keys(claims).length > 0) throw usage('--claim needs --as EMAIL');
    return runWithApi(context, async () => {
      const transport = await openTransport(parsed, context);
      const body = {
        // People know a site by its host.
        url: url.includes('://') ? url : `https://${url}`,
        ...(method !== undefined && { method: method.toUpperCase() }),
        ...(Object.keys(headers).length > 0 && { headers }),
        ...(address !== undefined && { address }),
        ...(email !== undefined && { as: { email, claims: shortened(claims) } }),
        ...(file !== undefined && { client_certificate_pem: await createTextSource().read(file, 'client-cert') }),
      };
      const { text } = await transport.send({ method: 'POST', path: '/explain', body });
      if (isJson) context.print(text);
      else for (const line of explanationLines(JSON.parse(text) as ShownExplanation)) context.print(line);
      return 0;
    });
  },
};

/** One value is a text, several are a list: providers send both. */
function shortened(claims: Readonly<Record<string, readonly string[]>>): Record<string, string | readonly string[]> {
  return Object.fromEntries(
    Object.entries(claims).map(([name, values]) => [name, values.length === 1 ? (values[0] as string) : values]),
  );
}
