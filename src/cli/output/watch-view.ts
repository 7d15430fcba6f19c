import { cut } from '../agent/output/styled-text.ts';
import { terminalWidth } from '../api/terminal-width.ts';
import type { CommandContext } from '../command.ts';
import type { OutputFormat } from './output-format.ts';

/** Alternate screen without cursor. */
const ENTER = '\x1b[?1049h\x1b[?25l\x1b[2J';
const LEAVE = '\x1b[?25h\x1b[?1049l';
const HOME = '\x1b[H';
const ERASE_REST_OF_LINE = '\x1b[K';
const ERASE_BELOW = '\x1b[J';
const DEFAULT_ROWS = 24;
/** Colors; other control characters were escaped. */
const STYLE = /\p{Cc}\[\d+m/gu;

export interface WatchView {
  /** Null keeps the lines of the last round. */
  show(lines: readonly string[] | null, warnings: readonly string[]): void;
  close(): void;
}

/** Repaints the screen. When it closes, the last frame stays on the normal screen. */
export function repaintingView(context: CommandContext): WatchView {
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
export function appendingView(context: CommandContext, format: OutputFormat): WatchView {
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
