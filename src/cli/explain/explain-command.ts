import { readFile } from 'node:fs/promises';
import { type FlagForm, parseFlags, usage } from '../../lib/flags.ts';
import { takeClaims } from '../access/claim-flags.ts';
import { CONNECTION_FLAGS, openTransport } from '../api/open-transport.ts';
import { isJsonOutput, OUTPUT_FLAGS } from '../changes/output-flag.ts';
import { runWithApi } from '../changes/run-with-api.ts';
import type { Command } from '../command.ts';
import { explanationLines, type ShownExplanation } from './explanation-lines.ts';
import { takeHeaders } from './header-flags.ts';

const HELP = `
Usage: postern explain URL [FLAGS]

Explains what the edge would do with a request, and why: the route it takes and why the others do not match, what each module
decides, which targets may get it, and which headers the upstream would see. Nothing is sent, fetched, stored or counted.

  --method            method of the request (default GET)
  --header            request header as "name: value"; repeat it for several
  --from              IP address of the client (default 127.0.0.1)
  --as                email address of a person who is logged in, whether or not they ever were
  --claim             claim of that person as name=value; repeat it for several, and for lists
  --client-cert       PEM file with a client certificate
  --output            table or json (default table); -o for short
  --api-url           address of the API (default POSTERN_CLI_API_URL, POSTERN_API_URL, then http://127.0.0.1:7080)
  --api-key-file      file with the API key, - reads standard input (default POSTERN_CLI_API_KEY, POSTERN_API_KEY, then
                      first-api-key in the data directory)
  --root-ca           PEM file with the CA of the API's certificate

The API key needs explain:read and the read scopes of what it shows; *:read has all of them.
"postern requests show ID" explains a request that happened.

Exit codes: 0 success, 1 rejected by the API, 2 invalid usage, 3 server unreachable.
`;

/** Why a request would be answered as it would. */
export const explainCommand: Command = {
  help: HELP,
  run: (args, context) => {
    const { claims, others: withoutClaims } = takeClaims(args);
    const { headers, others } = takeHeaders(withoutClaims);
    const parsed = parseFlags(others, FLAGS);
    const { flags, positionals } = parsed;
    const [url, ...more] = positionals;
    if (url === undefined || more.length > 0)
      throw usage('postern explain takes one URL, such as https://shop.example.com/cart');
    const isJson = isJsonOutput(flags);
    const [method, address, email, file] = ['method', 'from', 'as', 'client-cert'].map((name) => flags.get(name));
    if (email === undefined && Object.keys(claims).length > 0) throw usage('--claim needs --as EMAIL');
    return runWithApi(context, async () => {
      const transport = await openTransport(parsed, context);
      const body = {
        url,
        ...(method !== undefined && { method: method.toUpperCase() }),
        ...(Object.keys(headers).length > 0 && { headers }),
        ...(address !== undefined && { address }),
        ...(email !== undefined && { as: { email, claims: shortened(claims) } }),
        ...(file !== undefined && { client_certificate_pem: await readPem(file) }),
      };
      const { text } = await transport.send({ method: 'POST', path: '/explain', body });
      if (isJson) context.print(text);
      else for (const line of explanationLines(JSON.parse(text) as ShownExplanation)) context.print(line);
      return 0;
    });
  },
};

const FLAGS: ReadonlyMap<string, FlagForm> = new Map<string, FlagForm>([
  ...CONNECTION_FLAGS,
  ...OUTPUT_FLAGS,
  ['method', 'value'],
  ['from', 'value'],
  ['as', 'value'],
  ['client-cert', 'value'],
]);

/** One value is a text, several are a list: providers send both. */
function shortened(claims: Readonly<Record<string, readonly string[]>>): Record<string, string | readonly string[]> {
  return Object.fromEntries(
    Object.entries(claims).map(([name, values]) => [name, values.length === 1 ? (values[0] as string) : values]),
  );
}

async function readPem(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch {
    throw usage(`cannot read the file of --client-cert: ${file}`);
  }
}
