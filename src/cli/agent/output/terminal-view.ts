import type { AgentHandle } from '../../../agent/handle.ts';
import type { Terminal } from '../agent-ports.ts';
import type { AgentState } from '../agent-state.ts';
import { commandText, statusText, unboundText } from '../event-text.ts';
import { frame, plural } from './frame.ts';
import type { Reporter } from './reporter.ts';
import { type StyledLine, toScreen, widthOf } from './styled-text.ts';

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

export interface TerminalViewOptions {
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
