import { setTimeout as sleep } from 'node:timers/promises';
import { type Flag, isOn, type ParsedFlags, usage } from '../../../kit/flags.ts';
import type { CommandContext } from '../command.ts';
import { durationFlag } from '../shared-flags.ts';
import type { OutputFormat } from './output-format.ts';
import { cut } from './styled-text.ts';
import { terminalWidth } from './terminal.ts';

export const WATCH_FLAGS: readonly Flag[] = [
  { name: 'watch', kind: 'switch', hint: '', description: 'Repeat until interrupted, and show what changes.' },
  {
    name: 'every',
    kind: 'text',
    hint: 'DURATION',
    description: 'With --watch: time between two requests, such as 2s or 500ms.',
    default: '2s',
  },
];

const DEFAULT_SECONDS = 2;
const EVERY = { unit: 'seconds', minimum: 0.1, maximum: 3_600, hasFractions: true } as const;
const EXIT_UNREACHABLE = 3;

interface WatchOptions {
  readonly everyMs: number;
  readonly format?: OutputFormat;
}

/** Milliseconds between two rounds; null without `--watch`. */
export function watchInterval({ flags }: Pick<ParsedFlags, 'flags'>): number | null {
  const every = flags.get('every');
  if (!isOn({ flags }, 'watch')) {
    if (every !== undefined) throw usage('--every needs --watch');
    return null;
  }
  if (every === undefined) return DEFAULT_SECONDS * 1_000;
  return durationFlag('every', every, EVERY) * 1_000;
}

/**
 * Runs a command again and again until the user interrupts it. A terminal is repainted; elsewhere each new line is
 * printed once. A server that goes away after the first round is waited for. Other failures end it.
 */
export async function watch(
  context: CommandContext,
  { everyMs, format = 'table' }: WatchOptions,
  run: (context: CommandContext) => Promise<number>,
): Promise<number> {
  const ending = new AbortController();
  const stopped = new Promise<null>((resolve) => ending.signal.addEventListener('abort', () => resolve(null)));
  context.onInterrupt?.(() => ending.abort());
  const view: WatchView =
    context.isTerminal && context.env['TERM'] !== 'dumb' ? repaintingView(context) : appendingView(context, format);
  try {
    for (let round = 0; ; round += 1) {
      const [lines, warnings]: [string[], string[]] = [[], []];
      const captured: CommandContext = {
        ...context,
        print: (line) => void lines.push(...line.split('\n')),
        warn: (line) => void warnings.push(line),
        printed: async () => {},
      };
      const code = await Promise.race([run(captured), stopped]);
      if (code === null) return 0;
      const isLost = code === EXIT_UNREACHABLE && round > 0;
      // A command that printed something reports a problem by its code, and goes on.
      if (code !== 0 && !isLost && lines.length === 0) {
        view.close();
        for (const warning of warnings) context.warn(warning);
        return code;
      }
      view.show(isLost ? null : lines, warnings);
      await context.printed?.();
      await sleep(everyMs, undefined, { signal: ending.signal }).catch(() => {});
      if (ending.signal.aborted) return 0;
    }
  } finally {
    view.close();
  }
}

/** Alternate screen without cursor. */
const ENTER = '\x1b[?1049h\x1b[?25l\x1b[2J';
const LEAVE = '\x1b[?25h\x1b[?1049l';
const HOME = '\x1b[H';
const ERASE_REST_OF_LINE = '\x1b[K';
const ERASE_BELOW = '\x1b[J';
const DEFAULT_ROWS = 24;
/** Colors; other control characters were escaped. */
const STYLE = /\p{Cc}\[\d+m/gu;

interface WatchView {
  /** Null keeps the lines of the last round. */
  show(lines: readonly string[] | null, warnings: readonly string[]): void;
  close(): void;
}

/** Repaints the screen. When it closes, the last frame stays on the normal screen. */
function repaintingView(context: CommandContext): WatchView {
  let last: readonly string[] = [];
  let frame: readonly string[] = [];
  let isOpen = false;
  return {
    show: (lines, warnings) => {
      last = lines ?? last;
      frame = [...last, ...warnings];
      const width = terminalWidth(context) ?? Number.POSITIVE_INFINITY;
      const shown = frame.slice(0, rowsOf(context) - 1).map((line) => fitted(line, width));
      context.print(
        `${isOpen ? '' : ENTER}${HOME}${shown.map((line) => `${line}${ERASE_REST_OF_LINE}`).join('\n')}${ERASE_BELOW}`,
      );
      isOpen = true;
    },
    close: () => {
      if (!isOpen) return;
      isOpen = false;
      context.print(`${LEAVE}${frame.join('\n')}`);
    },
  };
}

/** Prints lines that the previous round did not have; a document is printed whole when it has changed. */
function appendingView(context: CommandContext, format: OutputFormat): WatchView {
  let known: ReadonlySet<string> = new Set();
  let [printed, warned] = ['', ''];
  return {
    show: (lines, warnings) => {
      if (lines !== null && format === 'yaml') {
        const text = lines.join('\n');
        if (text !== printed) context.print(`---\n${text}`);
        printed = text;
      } else if (lines !== null) {
        for (const line of lines) if (!known.has(line)) context.print(line);
        known = new Set(lines);
      }
      const text = warnings.join('\n');
      if (text !== warned && text !== '') context.warn(text);
      warned = text;
    },
    close: () => {},
  };
}

/** A line that wraps would push the others down. One with colors is fitted without them. */
function fitted(line: string, width: number): string {
  const plain = line.replaceAll(STYLE, '');
  const short = cut(plain, width);
  return short === plain ? line : short;
}

function rowsOf({ env }: CommandContext): number {
  const rows = Number(env['LINES'] ?? process.stdout.rows);
  return Number.isInteger(rows) && rows > 1 ? rows : DEFAULT_ROWS;
}
