import { type ParsedFlags, parseFlags, usage } from '../../lib/flags.ts';
import { apiUrl } from '../api/connection.ts';
import { CONNECTION_FLAGS, openTransport } from '../api/open-transport.ts';
import { runWithApi } from '../changes/run-with-api.ts';
import type { Command, CommandContext } from '../command.ts';
import { shownFinding } from '../doctor/report.ts';
import { painterFor } from '../output/color.ts';
import { OUTPUT_FLAGS, type OutputFormat, outputFormat } from '../output/output-format.ts';
import { printStructured } from '../output/structured-text.ts';
import { WATCH_FLAGS, watch, watchInterval } from '../output/watch.ts';
import { readStatus, type Status } from './read-status.ts';
import { statusText } from './status-text.ts';

const HELP = `
Usage: postern status [FLAGS]

Shows the installation on one screen: version and health of the server, nodes, edges, agents, tunnels, certificates that expire
within 30 days, and problems. "postern doctor" checks more, and says what to do.

  --output            table, json or yaml (default table); -o for short
  --watch             repeat until interrupted
  --every             with --watch: seconds between two requests (default 2)
  --api-url           address of the API (default POSTERN_CLI_API_URL, POSTERN_API_URL, then http://127.0.0.1:7080)
  --api-key-file      file with the API key, - reads standard input (default POSTERN_CLI_API_KEY, POSTERN_API_KEY, then
                      first-api-key in the data directory)
  --root-ca           PEM file with the CA of the API's certificate

Exit codes: 0 no problems (warnings are allowed), 1 problems found or rejected by the API, 2 invalid usage, 3 server unreachable.
`;

const FORMATS: readonly OutputFormat[] = ['table', 'json', 'yaml'];
const EXIT_PROBLEMS = 1;

/** The state of an installation at a glance. */
export const statusCommand: Command = {
  help: HELP,
  run: (args, context) => {
    const parsed = parseFlags(args, new Map([...CONNECTION_FLAGS, ...OUTPUT_FLAGS, ...WATCH_FLAGS]));
    if (parsed.positionals.length > 0) throw usage('postern status takes no arguments, only flags');
    const format = outputFormat(parsed.flags, FORMATS);
    const everyMs = watchInterval(parsed.flags);
    const run = (to: CommandContext): Promise<number> => runWithApi(to, () => show(parsed, format, to));
    return everyMs === null ? run(context) : watch(context, { everyMs, format }, run);
  },
};

async function show(parsed: ParsedFlags, format: OutputFormat, context: CommandContext): Promise<number> {
  const values = new Map(Array.from(parsed.flags, ([name, value]) => [name, [value]] as const));
  const url = apiUrl({ values, positionals: [] }, context);
  const status = await readStatus(await openTransport(parsed, context), Date.now());
  const isOk = status.findings.every(({ level }) => level !== 'problem');
  if (format === 'json' || format === 'yaml') await printStructured(document(status, url, isOk), format, context);
  else for (const line of statusText(status, url, painterFor(context))) context.print(line);
  return isOk ? 0 : EXIT_PROBLEMS;
}

/** For scripts: counts where the screen has lists. */
function document({ health, nodes, edges, agents, tunnels, expiring, findings }: Status, url: string, ok: boolean) {
  return {
    ok,
    server: { url, ...health, versions: [...new Set(nodes?.map(({ version }) => version))] },
    nodes: nodes?.map(({ name, status, version, agents: count }) => ({ name, status, version, agents: count })) ?? null,
    edges: edges === null ? null : { count: edges.length, routes: edges.flatMap(({ routes }) => routes).length },
    agents: agents?.length ?? null,
    tunnels: tunnels?.length ?? null,
    expiring_certificates: expiring,
    findings: findings.map(shownFinding),
  };
}
