import { PosternApiError } from '../../client/postern-api-error.ts';
import { PosternConnectionError } from '../../client/postern-connection-error.ts';
import type { Transport } from '../../client/transport.ts';
import { type FlagForm, type ParsedFlags, parseFlags, usage } from '../../lib/flags.ts';
import { didYouMean } from '../../lib/near-match.ts';
import { printable } from '../api/cell-text.ts';
import { CONNECTION_FLAGS, openTransport } from '../api/open-transport.ts';
import { createTextSource, type TextSource } from '../api/text-source.ts';
import type { Command, CommandContext } from '../command.ts';
import { Names } from '../names/names.ts';
import { takeClaims } from './claim-flags.ts';
import { reviewAccess } from './review-access.ts';
import { testAccess } from './test-access.ts';

/** What a subcommand works with. */
export interface AccessCall {
  readonly transport: Transport;
  /** Path of the module in the API. */
  readonly path: string;
  readonly flags: ParsedFlags['flags'];
  /** Values of `--claim`, by name. */
  readonly claims: Readonly<Record<string, readonly string[]>>;
  readonly source: TextSource;
  readonly context: CommandContext;
}

interface Subcommand {
  readonly flags: readonly (readonly [string, FlagForm])[];
  run(call: AccessCall): Promise<number>;
}

const PLACE: readonly (readonly [string, FlagForm])[] = [
  ['edge', 'value'],
  ['route', 'value'],
  ['from-file', 'value'],
  ['json', 'switch'],
];

const SUBCOMMANDS: ReadonlyMap<string, Subcommand> = new Map([
  [
    'test',
    {
      flags: [
        ['email', 'value'],
        ['unverified', 'switch'],
        ['service-account', 'value'],
        ['guest', 'switch'],
      ],
      run: testAccess,
    },
  ],
  ['review', { flags: [['since', 'value']], run: reviewAccess }],
]);

const HELP = `
Usage: postern access test --route HOST/PATH [FLAGS]
       postern access review --route HOST/PATH [FLAGS]

  test                print whether the rules let a described person in, and which rule decides
  review              list everybody with a session on the edge, and whether the rules let them in

  --route             the route: host and path, such as app.example.com/admin, or with --edge its id, path or description
  --edge              id, host or description of the edge
  --from-file         file with a proposed configuration of the access module (JSON or YAML), not stored; - reads
                      standard input
  --json              print the response of the API
  --email             test: email address of the person
  --unverified        test: the provider does not report the address as verified
  --claim             test: NAME=VALUE, a claim of the person; several of one name are a list
  --service-account   test: id or name of a service account, instead of a person
  --guest             test: a guest, instead of a person
  --since             review: only people who were active since then: 30d, 12h or a time such as 2026-11-01T00:00:00Z
                      (default 30d)
  --api-url           address of the API (default POSTERN_CLI_API_URL, POSTERN_API_URL, then http://127.0.0.1:7080)
  --api-key-file      file with the API key, - reads standard input (default POSTERN_CLI_API_KEY, POSTERN_API_KEY, then
                      first-api-key in the data directory)
  --root-ca           PEM file with the CA of the API's certificate

Examples:
  postern access test --route app.example.com/ --email ana@example.com --claim groups=ops
  postern access review --route app.example.com/ --from-file proposed.json

Exit codes: 0 success, 1 rejected by the API, 2 invalid usage, 3 server unreachable, 4 test: the rules do not let it in.
`;

const EXIT_REFUSED = 1;
const EXIT_UNREACHABLE = 3;

/** Questions about the access rules of a route. */
export const accessCommand: Command = {
  help: HELP,
  run: async ([name = '', ...args], context) => {
    const subcommand = SUBCOMMANDS.get(name);
    if (subcommand === undefined) {
      throw usage(
        `unknown subcommand ${JSON.stringify(name)}.${didYouMean(name, SUBCOMMANDS.keys())} See postern access --help`,
      );
    }
    const { claims, others } = name === 'test' ? takeClaims(args) : { claims: {}, others: args };
    const parsed = parseFlags(others, new Map([...CONNECTION_FLAGS, ...PLACE, ...subcommand.flags]));
    if (parsed.positionals.length > 0) throw usage(`unexpected argument: name the route with --edge ID --route ID`);
    const place = placeOf(parsed.flags);
    const source = createTextSource();
    try {
      const transport = await openTransport(parsed, context, source);
      const path = await modulePath(place, new Names(transport, context));
      return await subcommand.run({ transport, path, flags: parsed.flags, claims, source, context });
    } catch (error) {
      if (!(error instanceof PosternApiError) && !(error instanceof PosternConnectionError)) throw error;
      context.warn(`postern: ${printable(error.message)}`);
      return error instanceof PosternApiError ? EXIT_REFUSED : EXIT_UNREACHABLE;
    }
  },
};

interface Place {
  /** Absent when the route is named by host and path. */
  readonly edge: string | undefined;
  readonly route: string;
}

function placeOf(flags: ParsedFlags['flags']): Place {
  const [edge, route] = [flags.get('edge'), flags.get('route')];
  if (route === undefined || (edge === undefined && !/^[^/]+\//.test(route))) {
    throw usage('--edge ID and --route ID are required, or --route HOST/PATH');
  }
  return { edge, route };
}

async function modulePath({ edge, route }: Place, names: Names): Promise<string> {
  const found = edge === undefined ? await names.route(route) : null;
  const edgeId = edge === undefined ? (found?.edgeId ?? route) : await names.idIn('/edges/https', edge);
  const routeId = found?.routeId ?? (await names.idIn('/edges/https/{edge_id}/routes', route, { edge_id: edgeId }));
  return `/edges/https/${encodeURIComponent(edgeId)}/routes/${encodeURIComponent(routeId)}/access`;
}
