import type { Ref } from '../lib/schema/annotations.ts';
import type { OperationRequest } from './operation.ts';

/** The largest number of problems in one answer. */
export const PROBLEMS_MAX_LIMIT = 200;

export interface FoundProblem {
  readonly severity: 'problem' | 'warning' | 'hint';
  readonly check: string;
  readonly message: string;
  readonly advice: string | null;
  readonly object: Ref | null;
}

export interface ProblemsFound {
  /** The worst first. */
  readonly problems: readonly FoundProblem[];
  /** Counts everything that the key may read. */
  readonly counts: Readonly<Record<FoundProblem['severity'], number>>;
  readonly checkedAtMs: number;
  /** Checks about objects that the key may not read. */
  readonly skipped: readonly string[];
}

export interface ProblemsPort {
  find(limit: number, request: Pick<OperationRequest, 'principal'>): Promise<ProblemsFound>;
}
