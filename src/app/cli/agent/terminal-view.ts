import type { AgentHandle, AgentTunnel } from '../../../tunnel/agent/handle.ts';
import { printable } from '../output/cell-text.ts';
import {
  cut,
  padTo,
  type Span,
  type Style,
  type StyledLine,
  span,
  toScreen,
  widthOf,
  wrap,
} from '../output/styled-text.ts';
import type { Terminal } from './agent-ports.ts';
import type { AgentState, Recent, Reporter } from './agent-state.ts';
import { commandText, durationText, inTime, publicName, refusalText, statusText, unboundText } from './event-text.ts';

interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** Content of a frame. */
interface FrameContent {
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
function frame(content: FrameContent, { columns, rows }: Size): readonly StyledLine[] {
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

function plural(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`;
}

/** Alternate screen, no cursor, and no wrapping: a line that is too wide must not push the rest away. */
const ENTER = '\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J';
const LEAVE = '\x1b[?7h\x1b[?25h\x1b[?1049l';
/** Terminals that support it show the new frame atomically; others ignore it. */
const BEGIN_FRAME = '\x1b[?2026h';
const END_FRAME = '\x1b[?2026l';
const HOME = '\x1b[H';
const ERASE_REST_OF_LINE = '\x1b[K';
const ERASE_BELOW = '\x1b[J';

const REDRAW_AFTER_MS = 100;
const TICK_MS = 1_000;
/** After this many ticks anything typed or written over the view is repainted. */
const REPAINT_TICKS = 5;

interface TerminalViewOptions {
  readonly terminal: Terminal;
  readonly state: AgentState;
  readonly version: string;
  readonly serverAddr: string;
  readonly inspectorUrl: string | null;
  readonly hasColor: boolean;
  readonly nowMs: () => number;
  /** Prints lines after the normal screen is back. */
  readonly print: (line: string) => void;
  readonly warn: (line: string) => void;
}

/** The live view: redrawn in place, at most ten times a second, and only when it has changed. */
export class TerminalView implements Reporter {
  readonly #options: TerminalViewOptions;
  readonly #ticker: NodeJS.Timeout;
  readonly #stopResize: () => void;
  /** Messages that the user must still see when the view is gone. */
  readonly #finalMessages: string[] = [];
  #agent: AgentHandle | null = null;
  #note: string | null = null;
  /** Rejected containers with their reasons: they stay until they are no longer rejected. */
  readonly #rejected = new Map<string, string>();
  #redraw: NodeJS.Timeout | null = null;
  #ticks = 0;
  #shown = '';
  #isOpen = false;
  #isEnded = false;

  constructor(options: TerminalViewOptions) {
    this.#options = options;
    this.#ticker = setInterval(() => this.#tick(), TICK_MS);
    this.#stopResize = options.terminal.onResize(() => this.#repaint());
    this.enter();
  }

  started(agent: AgentHandle): void {
    this.#agent = agent;
    this.#changed();
  }

  event(event: Parameters<Reporter['event']>[0]): void {
    const { serverAddr } = this.#options;
    if (event.type === 'unbound' && !event.retry)
      this.#finalMessages.push(`${event.tunnel.name}: ${unboundText(event)}`);
    if (event.type === 'command') this.#note = commandText(event);
    const isEnd = event.type === 'status' && event.status === 'stopped' && event.reason !== null;
    if (isEnd) this.#finalMessages.push(statusText(event, serverAddr));
    this.#changed();
  }

  note(_level: 'info' | 'warn', message: string, fields: Parameters<Reporter['note']>[2] = {}): void {
    const { container, rejected } = fields;
    if (typeof container === 'string') this.#rejected.delete(container);
    if (typeof container === 'string' && rejected === true) this.#rejected.set(container, message);
    else this.#note = message;
    this.#changed();
  }

  stopping(): void {
    this.#changed();
  }

  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    clearInterval(this.#ticker);
    if (this.#redraw !== null) clearTimeout(this.#redraw);
    this.#redraw = null;
    this.#stopResize();
    this.leave();
    const { state, print, warn } = this.#options;
    for (const words of new Set(this.#finalMessages)) warn(`postern: ${words}`);
    print(`postern: stopped after ${plural(state.requests, 'request')} and ${plural(state.connections, 'connection')}`);
  }

  enter(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    this.#options.terminal.write(ENTER);
    this.#repaint();
  }

  /** Restores the terminal, also before the process is suspended or dies. */
  leave(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#options.terminal.write(LEAVE);
  }

  #changed(): void {
    this.#redraw ??= setTimeout(() => {
      this.#redraw = null;
      this.#draw();
    }, REDRAW_AFTER_MS);
  }

  #tick(): void {
    this.#ticks += 1;
    if (this.#ticks % REPAINT_TICKS === 0) this.#repaint();
    else this.#draw();
  }

  #repaint(): void {
    this.#shown = '';
    this.#draw();
  }

  #draw(): void {
    if (!this.#isOpen) return;
    const { terminal, state, version, serverAddr, inspectorUrl, hasColor, nowMs } = this.#options;
    const size = terminal.size();
    const lines = frame(
      {
        version,
        serverAddr,
        state,
        inspectorUrl,
        tunnels: this.#agent?.tunnels ?? [],
        roundTripMs: this.#agent?.roundTripMs ?? null,
        active: this.#agent?.active ?? 0,
        notes: [...this.#rejected.values(), ...(this.#note === null ? [] : [this.#note])],
        nowMs: nowMs(),
      },
      size,
    );
    const text = lines.map((line) => screenLine(line, size.columns, hasColor)).join('\r\n');
    if (text === this.#shown) return;
    this.#shown = text;
    // On a full screen there is nothing below the last line to erase, and erasing from its last cell would remove that
    // line's end.
    const rest = lines.length < size.rows ? `\r\n${ERASE_BELOW}` : '';
    terminal.write(`${BEGIN_FRAME}${HOME}${text}${rest}${END_FRAME}`);
  }
}

/** A full line has no rest: the cursor is on its last cell, which would be erased. */
function screenLine(line: StyledLine, columns: number, hasColor: boolean): string {
  const isFull = widthOf(toScreen(line, columns, false)) >= columns;
  return `${toScreen(line, columns, hasColor)}${isFull ? '' : ERASE_REST_OF_LINE}`;
}
