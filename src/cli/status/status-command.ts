import type { ParsedFlags } from '../../lib/flags.ts';
import { apiAccess } from '../api/api-access.ts';
import { CommandTransport } from '../api/command-transport.ts';
import { runWithApi } from '../api/run-with-api.ts';
import { terminalWidth } from '../api/terminal-width.ts';
import { createTextSource } from '../api/text-source.ts';
import type { Command, CommandContext } from '../command.ts';
import { API_EXIT_CODES, type CommandSyntax } from '../command-syntax.ts';
import { shownFinding } from '../doctor/report.ts';
import { painterFor } from '../output/color.ts';
import { type OutputFormat, outputFlag, outputFormat } from '../output/output-format.ts';
import { sayWhileSlow } from '../output/say-while-slow.ts';
import { printStructured } from '../output/structured-text.ts';
import { WATCH_FLAGS, watch, watchInterval } from '../output/watch.ts';
import { parseCommand } from '../parse-command.ts';
import { CONNECTION } from '../shared-flags.ts';
import { readStatus, type Status } from './read-status.ts';
import { statusText } from './status-text.ts';

const FORMATS: readonly OutputFormat[] = ['table', 'json', 'yaml'];
const EXIT_PROBLEMS = 1;

const SYNTAX: CommandSyntax = {
  name: 'status',
  about:
    'Shows the installation on one screen: version and health of the server, nodes, edges, agents, tunnels, certificates that expire within 30 days, and problems. "postern doctor" checks more, and says what to do.',
  flags: [outputFlag(FORMATS), ...WATCH_FLAGS],
  groups: [CONNECTION],
  notes: [
    'A part that the key may not read says so. The JSON has the fields ok, server, nodes, edges, agents, tunnels, expiring_certificates and findings.',
  ],
  examples: ['postern status', 'postern status --watch'],
  exitCodes: {
    ...API_EXIT_CODES,
    0: 'no problems (warnings are allowed)',
    1: 'problems found or rejected by the API',
  },
};

/** The state of an installation at a glance. */
export const statusCommand: Command = {
  syntax: SYNTAX,
  run: (args, context) => {
    const parsed = parseCommand(SYNTAX, args);
    const format = outputFormat(parsed.flags, FORMATS);
    const everyMs = watchInterval(parsed);
    const run = (to: CommandContext): Promise<number> => runWithApi(to, () => show(parsed, format, to));
    return everyMs === null ? run(context) : watch(context, { everyMs, format }, run);
  },
};

async function show(parsed: ParsedFlags, format: OutputFormat, context: CommandContext): Promise<number> {
  const access = await apiAccess(parsed, context, createTextSource());
  const status = await sayWhileSlow(
    context,
    () => `reading the state of ${access.url}`,
    () => readStatus(new CommandTransport(access), Date.now()),
  );
  const { url } = access;
  const isOk = status.findings.every(({ level }) => level !== 'problem');
  if (format === 'json' || format === 'yaml') printStructured(document(status, url, isOk), format, context);
  else {
    const screen = { paint: painterFor(context), width: terminalWidth(context) };
    for (const line of statusText(status, url, screen)) context.print(line);
  }
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
