import { Resources } from '../../client/generated/resources.ts';
import type { Transport } from '../../client/transport.ts';
import { type FlagForm, type ParsedFlags, parseFlags } from '../../lib/flags.ts';
import { printable } from '../api/cell-text.ts';
import { CONNECTION_FLAGS, openTransport } from '../api/open-transport.ts';
import { createTextSource, type TextSource } from '../api/text-source.ts';
import { runWithApi } from '../changes/run-with-api.ts';
import type { Command, CommandContext } from '../command.ts';
import { painterFor } from '../output/color.ts';
import { OUTPUT_FLAGS, type OutputFormat, outputFormat } from '../output/output-format.ts';
import { printStructured } from '../output/structured-text.ts';
import { edgeUrl, nextSteps } from './next-steps.ts';
import { type EdgePlan, planEdge } from './plan-edge.ts';
import { parseLogin, parseSite, parseTarget, takeEmailDomains, type WantedEdge } from './wanted-edge.ts';

const HELP = `
Usage: postern edge HOST[:PORT][/PATH] --to TARGET [FLAGS]

Serves a host: makes the edge, the route, the backend and the login, in one change. Run again, it shows what is there and
changes only the difference. It never removes anything.

  --to                  where requests go: 127.0.0.1:3000, a port of this machine's server, http://web:8080, https://web:8443,
                        or the id of a backend
  --oidc                require a login at this OpenID provider: the URL of its issuer
  --client-id           with --oidc: client id of your application at the provider
  --client-secret-file  with --oidc: file with the client secret, - reads standard input
  --allow-email-domain  let in only people with a verified address of this domain; may be repeated
  --dry-run             let the server check the change, and store nothing
  --message             message for the history
  --output              table, json, yaml or id (the id of the edge); -o for short
  --api-url             address of the API (default POSTERN_CLI_API_URL, POSTERN_API_URL, then http://127.0.0.1:7080)
  --api-key-file        file with the API key, - reads standard input (default POSTERN_CLI_API_KEY, POSTERN_API_KEY, then
                        first-api-key in the data directory)
  --root-ca             PEM file with the CA of the API's certificate

The port is that of the edge's listener, 443 unless you name it. Requests for all paths below PATH go to the target.

Examples:
  postern edge app.example.com --to 127.0.0.1:3000
  postern edge app.localhost:7443/admin --to 3000 --dry-run

Exit codes: 0 done or nothing to do, 1 rejected by the API, or something there stands against it, 2 invalid usage, 3 server
unreachable.
`;

const FLAGS: readonly (readonly [string, FlagForm])[] = [
  ...CONNECTION_FLAGS,
  ...OUTPUT_FLAGS,
  ['to', 'value'],
  ['oidc', 'value'],
  ['client-id', 'value'],
  ['client-secret-file', 'value'],
  ['dry-run', 'switch'],
  ['message', 'value'],
];
const EXIT_REFUSED = 1;

interface Outcome {
  readonly revision: number;
  readonly results: readonly { readonly body: { readonly id?: string; readonly backend?: { readonly id: string } } }[];
}

/** A host with its target in one command. */
export const edgeCommand: Command = {
  help: HELP,
  run: async (args, context) => {
    const { emailDomains, others } = takeEmailDomains(args);
    const parsed = parseFlags(others, new Map(FLAGS));
    const format = outputFormat(parsed.flags);
    const source = createTextSource();
    const wanted = await wantedEdge(parsed, emailDomains, source);
    return runWithApi(context, async () => {
      const transport = await openTransport(parsed, context, source);
      const plan = planEdge(wanted, await readCurrent(transport));
      if (plan.obstacle !== null) {
        context.warn(`postern: ${printable(plan.obstacle)}. Nothing was changed`);
        return EXIT_REFUSED;
      }
      const outcome = plan.operations.length === 0 ? null : await send(transport, plan, wanted, parsed);
      await report(plan, outcome, { wanted, isDryRun: isDryRun(parsed), format, context });
      return 0;
    });
  },
};

async function wantedEdge(
  { flags, positionals }: ParsedFlags,
  emailDomains: readonly string[],
  source: TextSource,
): Promise<WantedEdge> {
  const site = parseSite(positionals);
  const target = parseTarget(flags.get('to'));
  const file = flags.get('client-secret-file');
  const secret = file === undefined ? null : (await source.read(file, 'client-secret-file')).trim();
  return { ...site, target, login: parseLogin(flags, secret), emailDomains };
}

async function readCurrent(transport: Transport) {
  const resources = new Resources(transport);
  const [edges, backends] = await Promise.all([
    Array.fromAsync(resources.httpsEdges.list()),
    Array.fromAsync(resources.staticBackends.list()),
  ]);
  return { edges, backends };
}

async function send(transport: Transport, plan: EdgePlan, wanted: WantedEdge, parsed: ParsedFlags): Promise<Outcome> {
  const message = parsed.flags.get('message') ?? `postern edge ${wanted.host}${wanted.path}`.slice(0, 200);
  const body = { operations: plan.operations, dry_run: isDryRun(parsed), message };
  const { text } = await transport.send({ method: 'POST', path: '/changesets', body });
  return JSON.parse(text) as Outcome;
}

interface Report {
  readonly wanted: WantedEdge;
  readonly isDryRun: boolean;
  readonly format: OutputFormat;
  readonly context: CommandContext;
}

async function report(
  plan: EdgePlan,
  outcome: Outcome | null,
  { wanted, isDryRun: isDry, format, context }: Report,
): Promise<void> {
  const made = (path: RegExp): string | null => {
    const index = plan.operations.findIndex((operation) => operation.method === 'POST' && path.test(operation.path));
    return isDry || index === -1 ? null : (outcome?.results[index]?.body.id ?? null);
  };
  const ids = { edge_id: plan.edge?.id ?? made(/https$/), route_id: plan.route?.id ?? made(/routes$/) };
  if (format === 'id') {
    if (ids.edge_id !== null) context.print(ids.edge_id);
  } else if (format === 'json' || format === 'yaml') {
    const { lines: changes, notes } = plan;
    const head = { url: edgeUrl(wanted, plan), dry_run: isDry, revision: outcome?.revision ?? null };
    await printStructured({ ...head, ...ids, changed: plan.operations.length, changes, notes }, format, context);
  } else printText(plan, { wanted, isDryRun: isDry, format, context });
}

function printText(plan: EdgePlan, { wanted, isDryRun: isDry, context }: Report): void {
  const paint = painterFor(context);
  const colors = { '+': 'green', '~': 'yellow', '=': 'dim' } as const;
  for (const line of plan.lines) {
    context.print(paint(printable(line), colors[line[0] as keyof typeof colors]));
  }
  for (const note of plan.notes) context.warn(`postern: ${printable(note)}`);
  if (plan.operations.length === 0) context.print('nothing to change');
  else if (isDry) context.print('the server accepts this change; nothing was stored');
  if (isDry) return;
  for (const line of nextSteps(wanted, plan)) context.print(line);
}

function isDryRun({ flags }: ParsedFlags): boolean {
  return flags.get('dry-run') === 'true';
}
