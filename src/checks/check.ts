import type { Facts, Noun } from './facts.ts';
import type { Finding } from './finding.ts';

/** Looks for problems in what the server knows. `GET /problems` runs it, for the doctor, the status and the console. */
export interface Check {
  /** Stable name, which findings have too. */
  readonly name: string;
  /** The nouns that its findings tell about: a key that may not read one of them does not get the findings. */
  readonly nouns: readonly Noun[];
  /** Null where nothing was found. The server lets traffic go on between steps, so a step is short. */
  run(facts: Facts): Iterable<Finding | null>;
}
