import type { Facts, Noun } from './facts.ts';
import type { Finding } from './finding.ts';

/** Looks for problems in what is known, without a question to anybody: `postern doctor` and `GET /problems` run it. */
export interface Check {
  /** Stable name, which findings have too. */
  readonly name: string;
  /** The nouns that its findings tell about: a key that may not read one of them does not get the findings. */
  readonly nouns: readonly Noun[];
  /** Null where nothing was found. The server lets traffic go on between steps, so a step is short. */
  run(facts: Facts): Iterable<Finding | null>;
}

/** All findings at once, for a process that serves nobody. */
export function findingsOfCheck<Needed>(
  check: { run(facts: Needed): Iterable<Finding | null> },
  facts: Needed,
): readonly Finding[] {
  return [...check.run(facts)].filter((finding) => finding !== null);
}
