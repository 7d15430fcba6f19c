import type { Facts, Noun } from './facts.ts';

/** Looks for problems in what the server knows. `GET /problems` runs it, for the doctor, the status and the console. */
export interface Check {
  /** Stable name, which findings have too. */
  readonly name: string;
  /** The nouns that its findings tell about: a key that may not read one of them does not get the findings. */
  readonly nouns: readonly Noun[];
  /** Null where nothing was found. The server lets traffic go on between steps, so a step is short. */
  run(facts: Facts): Iterable<Finding | null>;
}

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
  /** The object that it is about; absent for several, and for none of the API. */
  readonly about?: Subject;
}

export interface Subject {
  readonly id: string;
  /** The edge of a route. */
  readonly parentId?: string;
}

/** Makes the findings of one check. */
interface FindingMaker {
  ok(message: string): Finding;
  hint(message: string, advice?: string, about?: Subject): Finding;
  warning(message: string, advice: string, about?: Subject): Finding;
  problem(message: string, advice: string, about?: Subject): Finding;
}

export function findingMaker(check: string): FindingMaker {
  const make = (level: Level, message: string, advice?: string, about?: Subject): Finding => ({
    ...{ level, check, message },
    ...(advice !== undefined && { advice }),
    ...(about !== undefined && { about }),
  });
  return {
    ok: (message) => make('ok', message),
    hint: (message, advice, about) => make('hint', message, advice, about),
    warning: (message, advice, about) => make('warning', message, advice, about),
    problem: (message, advice, about) => make('problem', message, advice, about),
  };
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
  const make = findingMaker(check);
  return {
    list,
    ok: (message) => void list.push(make.ok(message)),
    hint: (message, advice) => void list.push(make.hint(message, advice)),
    warning: (message, advice) => void list.push(make.warning(message, advice)),
    problem: (message, advice) => void list.push(make.problem(message, advice)),
  };
}
