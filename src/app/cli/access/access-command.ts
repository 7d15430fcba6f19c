import type { TSchema } from 'typebox';
import { SITE_EDGE, SITE_ROUTE, siteRoutePath } from '../../../client/sites.ts';
import type { Transport } from '../../../client/transport.ts';
import { type Flag, type ParsedFlags, usage } from '../../../kit/flags.ts';
import { isJsonObject, type JsonObject } from '../../../kit/json.ts';
import { openTransport, runWithApi } from '../api/api-access.ts';
import { createTextSource, fileObject, type TextSource } from '../api/text-source.ts';
import { API_EXIT_CODES, type Command, type CommandContext, type CommandSyntax, parseCommand } from '../command.ts';
import { Names } from '../names/names.ts';
import { printable } from '../output/cell-text.ts';
import { table } from '../output/table.ts';
import { CLAIM, CONNECTION, claimsOf, fileFlag, switchFlag, textFlag, timeFlag } from '../shared-flags.ts';

interface Review {
  readonly people: readonly (JsonObject & { readonly allowed: boolean; readonly rule: string | null })[];
  readonly is_truncated: boolean;
}

/** Lists people with a session, and whether the rules let them in. */
export async function reviewAccess(call: AccessCall): Promise<number> {
  const { transport, path, flags, context } = call;
  const access = await proposedRules(call);
  const since = flags.get('since');
  const query = since === undefined ? {} : { since: timeFlag('since', since) };
  const review = { path: `${path}/review`, query };
  const { text } = await transport.send(
    access === null ? { ...review, method: 'GET' } : { ...review, method: 'POST', body: { access } },
  );
  if (flags.get('json') === 'true') {
    context.print(text);
    return 0;
  }
  const { people, is_truncated: isTruncated } = JSON.parse(text) as Review;
  const rows = people.map(({ email, last_active: lastActive, allowed, rule, reason }) => ({
    access: allowed ? 'allowed' : 'refused',
    rule: rule ?? (reason as string),
    email: email as string,
    last_active: lastActive as string,
  }));
  if (rows.length > 0) for (const line of table(rows, LAYOUT)) context.print(line);
  const allowed = people.filter((person) => person.allowed).length;
  context.print(`${people.length} people: ${allowed} allowed, ${people.length - allowed} refused`);
  if (isTruncated) context.warn('postern: warning: there are more people than the API lists');
  return 0;
}

const LAYOUT = {
  schema: {
    type: 'object',
    properties: { access: {}, rule: {}, email: {}, last_active: {} },
  } as TSchema,
  leftOut: [],
  terminalWidth: null,
};

const EXIT_NOT_ALLOWED = 4;

/** Prints the decision about a described requester. */
export async function testAccess(call: AccessCall): Promise<number> {
  const { transport, path, flags, claims, context } = call;
  const access = await proposedRules(call);
  const [email, account] = [flags.get('email'), flags.get('service-account')];
  const body = {
    ...(email !== undefined && { email }),
    ...(isOn(flags, 'unverified') && { email_verified: false }),
    ...(Object.keys(claims).length > 0 && { claims }),
    ...(account !== undefined && {
      service_account_id: await new Names(transport, context).idOfKinds(['service_account'], account),
    }),
    ...(isOn(flags, 'guest') && { guest: true }),
    ...(access !== null && { access }),
  };
  const { text } = await transport.send({ method: 'POST', path: `${path}/test`, body });
  const { allowed, message, paths_read_by: reader } = JSON.parse(text) as Tested;
  context.print(isOn(flags, 'json') ? text : `${allowed ? 'allowed' : 'refused'}: ${printable(message)}`);
  if (reader !== null && !isOn(flags, 'json'))
    context.print(`paths such as /a//b are rejected: ${printable(reader)} reads paths on this route`);
  return allowed ? 0 : EXIT_NOT_ALLOWED;
}

interface Tested {
  readonly allowed: boolean;
  readonly message: string;
  readonly paths_read_by: string | null;
}

function isOn(flags: ReadonlyMap<string, string>, name: string): boolean {
  return flags.get(name) === 'true';
}

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
    { isRequired: true, completedBy: [SITE_ROUTE.kind] },
  ),
  textFlag('edge', 'NAME', 'Id, host or description of the edge.', { completedBy: [SITE_EDGE.kind] }),
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
  const edgeId = edge === undefined ? (found?.edgeId ?? route) : await names.idIn(SITE_EDGE.path, edge);
  const routeId = found?.routeId ?? (await names.idIn(SITE_ROUTE.path, route, { edge_id: edgeId }));
  return `${siteRoutePath(encodeURIComponent(edgeId), encodeURIComponent(routeId))}/access`;
}

/** The configuration in the file of `--from-file`: that of the module, or a route with it. Null without the flag. */
export async function proposedRules({ flags, source }: AccessCall): Promise<JsonObject | null> {
  const file = flags.get('from-file');
  if (file === undefined) return null;
  const read = await fileObject(file, source);
  const { access } = read;
  return isJsonObject(access) ? access : read;
}
