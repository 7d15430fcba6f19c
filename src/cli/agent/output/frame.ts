import type { AgentTunnel } from '../../../agent/handle.ts';
import { printable } from '../../api/cell-text.ts';
import type { AgentState, Recent } from '../agent-state.ts';
import { durationText, inTime, publicName, refusalText } from '../event-text.ts';
import { cut, padTo, type Span, type Style, type StyledLine, span, widthOf, wrap } from './styled-text.ts';

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** Content of a frame. */
export interface FrameContent {
  readonly version: string;
  readonly serverAddr: string;
  readonly state: AgentState;
  readonly tunnels: readonly AgentTunnel[];
  readonly roundTripMs: number | null;
  /** Requests and connections in progress. */
  readonly active: number;
  readonly inspectorUrl: string | null;
  /** What the program says about itself: what is wrong, and its last message. */
  readonly notes: readonly string[];
  readonly nowMs: number;
}

const LABEL_WIDTH = 16;
/** Below this width a label gets its own line when its text is long; so does an address that would be broken. */
const NARROW = 60;
/** Below this width the time of a request is omitted. */
const NARROWEST = 50;
/** More would hide the addresses. */
const MAX_NOTES = 4;
const BLANK: StyledLine = [];

/** The lines of the screen, no more than fit. The most important facts are on top, and omitted lines are counted. */
export function frame(content: FrameContent, { columns, rows }: Size): readonly StyledLine[] {
  const head = [title(content, columns), BLANK, ...facts(content, columns)];
  const tunnels = content.tunnels.flatMap((tunnel, index) => tunnelLines(tunnel, index === 0, columns));
  const counts = fact('Traffic', [span(countText(content))], columns);
  const fixed = [...head, ...shortened(tunnels, rows - head.length - counts.length), ...counts];
  const room = rows - fixed.length - 2;
  const { recent } = content.state;
  if (room < 1 || recent.length === 0) return fixed.slice(0, rows);
  const shown = recent.slice(-room).reverse();
  return [
    ...fixed,
    BLANK,
    [span('Last requests', 'bold')],
    ...shown.map((entry) => recentLine(entry, content, columns)),
  ];
}

function title({ version, state }: FrameContent, columns: number): StyledLine {
  const left = `postern ${version}`;
  const right = state.isStopping ? 'stopping; Ctrl-C again to stop now' : 'Ctrl-C to stop';
  const gap = columns - widthOf(left) - widthOf(right);
  return gap < 2 ? [span(left, 'bold')] : [span(left, 'bold'), span(' '.repeat(gap)), span(right, 'dim')];
}

function facts(content: FrameContent, columns: number): readonly StyledLine[] {
  const { state, serverAddr, roundTripMs, inspectorUrl, notes } = content;
  const lines = [...fact('Status', statusSpans(content), columns)];
  const region = state.region === null ? '' : `, region ${printable(state.region)}`;
  lines.push(...fact('Server', [span(`${serverAddr}${region}`)], columns));
  if (state.nodes.length > 0) {
    lines.push(...fact('Nodes', [span(state.nodes.map(({ name }) => printable(name)).join(', '))], columns));
  }
  lines.push(
    ...fact(
      'Latency',
      [span(roundTripMs === null ? '-' : `${roundTripMs.toFixed(roundTripMs < 10 ? 1 : 0)} ms`)],
      columns,
    ),
  );
  if (inspectorUrl !== null) lines.push(...fact('Web interface', [span(inspectorUrl, 'cyan')], columns));
  const omitted = notes.length - MAX_NOTES;
  for (const [index, note] of notes.slice(0, MAX_NOTES).entries())
    lines.push(...fact(index === 0 ? 'Note' : '', [span(printable(note), 'yellow')], columns));
  if (omitted > 0)
    lines.push(...fact('', [span(`and ${omitted} more, which the server lists: postern status`)], columns));
  return lines;
}

function statusSpans({ state, nowMs }: FrameContent): readonly Span[] {
  if (state.isStopping && state.status !== 'stopped') return [span('stopping after open requests finish', 'yellow')];
  if (state.status === 'online') return [span('online', 'green')];
  const { status, reason, code, nextTryAtMs } = state;
  const style: Style = status === 'stopped' && reason !== null ? 'red' : 'yellow';
  if (reason === null) return [span(status, style)];
  const again = nextTryAtMs === null ? '' : `; retrying ${inTime(Math.max(0, nextTryAtMs - nowMs))}`;
  return [span(`${status}: ${refusalText(reason, code)}${again}`, style)];
}

/** A label and its text, which is wrapped and never truncated: users copy addresses from here. */
function fact(label: string, [first]: readonly Span[], columns: number): readonly StyledLine[] {
  const { text, style } = first ?? span('');
  const room = columns - LABEL_WIDTH;
  const isBroken = text.split(' ').some((word) => widthOf(word) > room);
  const isNarrow = isBroken || (columns < NARROW && widthOf(text) > room);
  const indent = isNarrow ? 2 : LABEL_WIDTH;
  const [start = '', ...rest] = wrap(text, Math.max(1, columns - indent));
  const more = rest.map((line): StyledLine => [span(' '.repeat(indent)), span(line, style)]);
  if (!isNarrow) return [[span(padTo(label, LABEL_WIDTH), 'bold'), span(start, style)], ...more];
  return [[span(label, 'bold')], [span(' '.repeat(indent)), span(start, style)], ...more];
}

function tunnelLines(tunnel: AgentTunnel, isFirst: boolean, columns: number): readonly StyledLine[] {
  const label = isFirst ? 'Forwarding' : '';
  const target = printable(tunnel.forwardsTo);
  const isBad = tunnel.status === 'refused' || tunnel.status === 'waiting';
  const text = isBad
    ? `${printable(tunnel.name)} (${target}) ${refusedText(tunnel)}`
    : `${publicName(tunnel)} → ${target}`;
  const style: Style = isBad ? 'red' : tunnel.status === 'online' ? 'cyan' : 'dim';
  return fact(label, [span(text, style)], columns);
}

function refusedText({ status, problem }: AgentTunnel): string {
  const why = problem === null ? '' : `: ${refusalText(problem, null)}`;
  return status === 'waiting' ? `rejected for now${why}` : `rejected${why}`;
}

function shortened(lines: readonly StyledLine[], room: number): readonly StyledLine[] {
  if (lines.length <= room) return lines;
  const kept = lines.slice(0, Math.max(0, room - 1));
  return [...kept, [span(' '.repeat(LABEL_WIDTH)), span(`… and ${lines.length - kept.length} more lines`, 'dim')]];
}

function countText({ state, active, tunnels }: FrameContent): string {
  const hasRequests = tunnels.length === 0 || tunnels.some(({ proto }) => proto !== 'tcp' && proto !== 'tls');
  const hasConnections = tunnels.some(({ proto }) => proto === 'tcp' || proto === 'tls');
  const parts = [
    ...(hasRequests ? [plural(state.requests, 'request')] : []),
    ...(hasConnections ? [plural(state.connections, 'connection')] : []),
    `${active} open`,
  ];
  return parts.join(', ');
}

function recentLine({ atMs, event }: Recent, { tunnels }: FrameContent, columns: number): StyledLine {
  const time = columns < NARROWEST ? '' : `${clockTime(atMs)}  `;
  const name = tunnels.length > 1 && columns >= NARROW ? `${padTo(cut(printable(event.tunnel.name), 12), 12)}  ` : '';
  if (event.type === 'connection') {
    const what = `connection from ${printable(event.clientAddress)} ${event.phase}`;
    const why = event.problem === null ? '' : `: ${printable(event.problem)}`;
    return [span(time, 'dim'), span(name), span(`${what}${why}`, event.phase === 'failed' ? 'red' : 'plain')];
  }
  const { method, path, status, durationMs, problem } = event;
  const end = `${status === 0 ? '---' : status}  ${durationText(durationMs).padStart(8)}`;
  const start = `${time}${name}${padTo(cut(printable(method), 7), 7)} `;
  const room = columns - widthOf(start) - widthOf(end) - 2;
  const why = problem === null ? '' : `  ${printable(problem)}`;
  const middle = room < 8 ? '' : `${padTo(cut(printable(path) + why, room), room)}  `;
  return [span(time, 'dim'), span(start.slice(time.length)), span(middle), span(end, statusStyle(status, problem))];
}

function statusStyle(status: number, problem: string | null): Style {
  if (problem !== null || status === 0 || status >= 500) return 'red';
  return status >= 400 ? 'yellow' : 'green';
}

function clockTime(ms: number): string {
  return new Date(ms).toTimeString().slice(0, 8);
}

export function plural(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`;
}
