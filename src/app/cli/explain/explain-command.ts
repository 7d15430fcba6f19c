import { SITE_EDGE } from '../../../client/sites.ts';
import { usage } from '../../../kit/flags.ts';
import type { Ref } from '../../../kit/schema/annotations.ts';
import { openTransport, runWithApi } from '../api/api-access.ts';
import { createTextSource } from '../api/text-source.ts';
import { API_EXIT_CODES, type Command, type CommandSyntax, parseCommand } from '../command.ts';
import { cellText, printable } from '../output/cell-text.ts';
import { isJsonOutput, outputFlag } from '../output/output-format.ts';
import { CLAIM, CONNECTION, claimsOf, fileFlag, HEADER, headersOf, textFlag } from '../shared-flags.ts';

export interface ShownExplanation {
  readonly edge: Ref | null;
  readonly route: Ref | null;
  readonly match: string | null;
  readonly candidates: readonly { readonly route: Ref; readonly match: string; readonly why_not: string }[];
  readonly decisions: readonly {
    readonly module: string;
    readonly decision: string;
    readonly reason: string;
    readonly rule?: string;
    readonly text: string;
  }[];
  readonly outcome: {
    readonly status?: number;
    readonly error_code?: string;
    readonly location?: string;
    readonly targets: readonly {
      readonly name: string;
      readonly kind: string;
      readonly node?: string;
      readonly forwards_to?: string;
    }[];
  };
  readonly upstream_request: {
    readonly headers_added: Readonly<Record<string, string>>;
    readonly headers_removed: readonly string[];
    readonly target?: string;
  } | null;
}

const MARKS: Readonly<Record<string, string>> = { pass: '✓', refuse: '✗', answer: '→', skipped: '-' };

/** A tree that a person reads from top to bottom, as the request would go. Ids stand behind what people know. */
export function explanationLines(explained: ShownExplanation, host: string): readonly string[] {
  const { edge, route, match, candidates, decisions, upstream_request: sent } = explained;
  return [
    `site   ${edge === null ? `none has the host ${printable(host)}` : printable(`${host} (${edge.id})`)}`,
    `route  ${route === null ? 'none' : printable(`${match ?? ''} (${route.id})`)}`,
    ...candidates.map((each) => printable(`  not ${each.match}: ${each.why_not} (${each.route.id})`)),
    'decisions',
    ...decisions.map(({ module, decision, reason, rule, text }) => {
      const by = rule === undefined ? '' : ` [${printable(rule)}]`;
      return `  ${MARKS[decision] ?? '?'} ${printable(module)}: ${printable(reason)}${by} – ${printable(text)}`;
    }),
    `outcome  ${outcomeText(explained)}`,
    ...explained.outcome.targets.map(({ name, kind, node, forwards_to: to }) => {
      const where = `${node === undefined ? '' : ` on node ${printable(node)}`}`;
      return `  → ${kind} ${printable(name)}${to === undefined ? '' : ` to ${printable(to)}`}${where}`;
    }),
    ...(sent === null ? [] : upstreamLines(sent)),
  ];
}

function outcomeText({ outcome, decisions }: ShownExplanation): string {
  const { status, error_code: code, location, targets } = outcome;
  if (status !== undefined && location !== undefined) return `${status} to ${printable(location)}`;
  if (status !== undefined) return code === undefined ? String(status) : `${status} ${printable(code)}`;
  if (targets.length > 0) return targets.length === 1 ? 'forwarded to' : 'forwarded to one of';
  return decisions.at(-1)?.decision === 'pass' ? 'served by the edge itself' : 'no response';
}

function upstreamLines({
  headers_added: added,
  headers_removed: removed,
  target,
}: NonNullable<ShownExplanation['upstream_request']>): readonly string[] {
  return [
    'the upstream gets',
    ...(target === undefined ? [] : [`  path ${printable(target)}`]),
    ...Object.entries(added).map(([name, value]) => `  + ${printable(name)}: ${cellText(value)}`),
    ...removed.map((name) => `  - ${printable(name)}`),
  ];
}

const SYNTAX: CommandSyntax = {
  name: 'explain',
  usage: ['URL|HOST'],
  hasOperands: true,
  completedBy: [SITE_EDGE.kind],
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
    'The request is that of a browser, which a login redirects. --header "accept: */*" asks as a program, which gets 401.',
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
        headers: asBrowser(headers),
        ...(address !== undefined && { address }),
        ...(email !== undefined && { as: { email, claims: shortened(claims) } }),
        ...(file !== undefined && { client_certificate_pem: await createTextSource().read(file, 'client-cert') }),
      };
      const { text } = await transport.send({ method: 'POST', path: '/explain', body });
      if (isJson) context.print(text);
      else
        for (const line of explanationLines(JSON.parse(text) as ShownExplanation, hostOf(body.url)))
          context.print(line);
      return 0;
    });
  },
};

/** Not with `URL`, which refuses what the API explains. */
function hostOf(url: string): string {
  return url.replace(/^[^/]*:\/\//, '').replace(/(:\d*)?([/?#].*)?$/, '');
}

/** A site with a login leads a browser there, and answers programs with 401: people ask about what they see. */
function asBrowser(headers: Readonly<Record<string, readonly string[]>>): Readonly<Record<string, readonly string[]>> {
  const isGiven = Object.keys(headers).some((name) => name.toLowerCase() === 'accept');
  return isGiven ? headers : { ...headers, accept: ['text/html'] };
}

/** One value is a text, several are a list: providers send both. */
function shortened(claims: Readonly<Record<string, readonly string[]>>): Record<string, string | readonly string[]> {
  return Object.fromEntries(
    Object.entries(claims).map(([name, values]) => [name, values.length === 1 ? (values[0] as string) : values]),
  );
}
