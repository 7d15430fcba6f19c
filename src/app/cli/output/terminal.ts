import { wrapText } from '../../../kit/text/terminal-text.ts';
import type { CommandContext } from '../command.ts';

const DEFAULT_WIDTH = 80;

/** Null: the output is not a terminal, and nothing is truncated. */
export function terminalWidth({ isTerminal, env }: CommandContext): number | null {
  if (!isTerminal) return null;
  const columns = Number(env['COLUMNS'] ?? process.stdout.columns);
  return Number.isInteger(columns) && columns > 0 ? columns : DEFAULT_WIDTH;
}

/** Breaks a text for a terminal at words. Later lines are indented by two more columns. Null: it is no terminal. */
export function wholeWords(text: string, width: number | null): string {
  if (width === null) return text;
  const broken = text.split('\n').map((line) => {
    const indent = ' '.repeat(line.length - line.trimStart().length);
    const lines = wrapText(line.trimStart(), width - indent.length - 2);
    return `${indent}${lines.join(`\n${indent}  `)}`;
  });
  return broken.join('\n');
}

const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const;
export type Color = keyof typeof CODES;

/** Colors a text, or returns it unchanged. */
export type Painter = (text: string, color: Color) => string;

/** Color on terminals only. `NO_COLOR` (no-color.org) turns it off, `FORCE_COLOR` on; `NO_COLOR` wins. */
export function painterFor({ env, isTerminal }: CommandContext): Painter {
  if (env['NO_COLOR']) return (text) => text;
  const isForced = Boolean(env['FORCE_COLOR']) && env['FORCE_COLOR'] !== '0';
  const term = env['TERM'];
  const isCapable = isTerminal && env['FORCE_COLOR'] !== '0' && Boolean(term) && term !== 'dumb';
  if (!isForced && !isCapable) return (text) => text;
  return (text, color) => (text === '' ? text : `\x1b[${CODES[color]}m${text}\x1b[0m`);
}

const FIRST_MS = 1000;
const AGAIN_MS = 5000;

/** Tells a person at a terminal, after a second and then now and again, what a command that prints nothing is doing. */
export async function sayWhileSlow<T>(
  { isTerminal, warn }: Pick<CommandContext, 'isTerminal' | 'warn'>,
  doing: () => string,
  run: () => Promise<T>,
): Promise<T> {
  if (!isTerminal) return run();
  let timer: NodeJS.Timeout | undefined;
  const wait = (ms: number): void => {
    timer = setTimeout(() => {
      warn(`postern: ${doing()}`);
      wait(AGAIN_MS);
    }, ms);
  };
  wait(FIRST_MS);
  try {
    return await run();
  } finally {
    clearTimeout(timer);
  }
}

const INTERVAL_MS = 2000;

/** Tells on standard error what a long command does, at most every two seconds: short ones say nothing. */
export class Progress {
  readonly #context: CommandContext;
  #nextAtMs = performance.now() + INTERVAL_MS;

  constructor(context: CommandContext) {
    this.#context = context;
  }

  report(text: string): void {
    const nowMs = performance.now();
    if (nowMs < this.#nextAtMs) return;
    this.#nextAtMs = nowMs + INTERVAL_MS;
    this.#context.warn(`postern: ${text}`);
  }
}
