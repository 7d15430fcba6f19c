import type { Finding, FindingKind } from '../../kit/findings.ts';
import type { AlertKind } from './alert-kind.ts';
import type { Facts, Noun } from './facts.ts';

/**
 * A part of the installation that something can be wrong with, such as its nodes: what is looked for at a request, and
 * what is watched all the time. One file in `subjects`, and one line in `registry.ts`.
 */
export interface Subject {
  readonly checks?: readonly Check[];
  readonly alerts?: readonly AlertKind[];
}

/** Looks for problems in what the server knows. `GET /problems` runs it, for the doctor, the status and the console. */
export interface Check {
  /** Stable name, which findings have too. */
  readonly name: string;
  /** The nouns that its findings tell about: a key that may not read one of them does not get the findings. */
  readonly nouns: readonly Noun[];
  /** By code. A raised alert with one of these codes is not reported a second time. */
  readonly kinds: Readonly<Record<string, FindingKind>>;
  /** Null where nothing was found. The server lets traffic go on between steps, so a step is short. */
  run(facts: Facts): Iterable<Finding | null>;
}
