import type { CommandContext } from '../command.ts';

const DEFAULT_WIDTH = 80;

/** Null: the output is not a terminal, and nothing is truncated. */
export function terminalWidth({ isTerminal, env }: CommandContext): number | null {
  if (!isTerminal) return null;
  const columns = Number(env['COLUMNS'] ?? process.stdout.columns);
  return Number.isInteger(columns) && columns > 0 ? columns : DEFAULT_WIDTH;
}
