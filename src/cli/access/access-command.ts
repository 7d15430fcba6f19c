import type { Transport } from '../../client/transport.ts';
import { type Flag, type ParsedFlags, usage } from '../../lib/flags.ts';
import { openTransport } from '../api/open-transport.ts';
import { runWithApi } from '../api/run-with-api.ts';
import { createTextSource, type TextSource } from '../api/text-source.ts';
import type { Command, CommandContext } from '../command.ts';
import { API_EXIT_CODES, type CommandSyntax } from '../command-syntax.ts';
import { Names } from '../names/names.ts';
import { parseCommand } from '../parse-command.ts';
import { CONNECTION, fileFlag, switchFlag, textFlag } from '../shared-flags.ts';
import { CLAIM, claimsOf } from './claim-flags.ts';
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

const RUNS = { test: testAccess, review: reviewAccess };

const ROUTE_FLAGS: readonly Flag[] = [
  textFlag(
    'route',
    'HOST/PATH',
    'The route: host and path, such as app.example.com/admin, or with --edge its id, path or description.',
    { isRequired: true, completedBy: ['https_edge_route'] },
  ),
  textFlag('edge', 'NAME', 'Id, host or description of the edge.', { completedBy: ['https_edge'] }),
  fileFlag(
    'from-file',
    'File with a proposed configuration of the access module (JSON or YAML), not stored; - reads standard input.',
  ),
  switchFlag('json', 'Print the response of the API.'),
];

const SYNTAX: CommandSyntax = {
  name: 'access',
  about: 'Answers questions about the access rules of a route.',
  subcommands: [
    {
      name: 'test',
      about: 'print whether the rules let a described person in, and which rule decides',
      flags: [
        textFlag('email', 'ADDRESS', 'Email address of the person.', { completedBy: ['user_account'] }),
        switchFlag('unverified', 'The provider does not report the address as verified.'),
        CLAIM,
        textFlag('service-account', 'NAME', 'Id or name of a service account, instead of a person.', {
          completedBy: ['service_account'],
        }),
        switchFlag('guest', 'A guest, instead of a person.'),
      ],
    },
    {
      name: 'review',
      about: 'list everybody with a session on the edge, and whether the rules let them in',
      flags: [
        textFlag(
          'since',
          'TIME',
          'Only people who were active since then: 30d, 12h or a time such as 2026-11-01T00:00:00Z.',
          { default: '30d' },
        ),
      ],
    },
  ],
  flags: ROUTE_FLAGS,
  groups: [CONNECTION],
  examples: [
    'postern access test --route app.example.com/ --email ana@example.com --claim groups=ops',
    'postern access review --route app.example.com/ --from-file proposed.json',
  ],
  exitCodes: { ...API_EXIT_CODES, 4: 'test: the rules do not let it in' },
};

/** Questions about the access rules of a route. */
export const accessCommand: Command = {
  syntax: SYNTAX,
  run: (args, context) => {
    const parsed = parseCommand(SYNTAX, args);
    const run = RUNS[parsed.subcommand as keyof typeof RUNS];
    const place = placeOf(parsed.flags);
    const claims = claimsOf(parsed);
    const source = createTextSource();
    return runWithApi(context, async () => {
      const transport = await openTransport(parsed, context, source);
      const path = await modulePath(place, new Names(transport, context));
      return run({ transport, path, flags: parsed.flags, claims, source, context });
    });
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
