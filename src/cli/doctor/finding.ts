/**
 * `ok`: checked, and fine. `hint`: worth knowing, or not detectable from here. `warning`: will become a problem, or
 * allows more than may be intended. `problem`: something does not work; only this level fails the command.
 */
export type Level = 'ok' | 'hint' | 'warning' | 'problem';

export const LEVELS: readonly Level[] = ['ok', 'hint', 'warning', 'problem'];

export interface Finding {
  readonly level: Level;
  /** The check that found it; a stable name. */
  readonly check: string;
  readonly message: string;
  /** What to do. */
  readonly advice?: string;
}

export interface Findings {
  readonly list: readonly Finding[];
  ok(message: string): void;
  hint(message: string, advice?: string): void;
  warning(message: string, advice: string): void;
  problem(message: string, advice: string): void;
}

/** Collects the findings of one check. */
export function findingsOf(check: string): Findings {
  const list: Finding[] = [];
  const add = (level: Level, message: string, advice?: string): void => {
    list.push({ level, check, message, ...(advice !== undefined && { advice }) });
  };
  return {
    list,
    ok: (message) => add('ok', message),
    hint: (message, advice) => add('hint', message, advice),
    warning: (message, advice) => add('warning', message, advice),
    problem: (message, advice) => add('problem', message, advice),
  };
}
