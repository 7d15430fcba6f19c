import type { CommandContext } from '../command.ts';

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
