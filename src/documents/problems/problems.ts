import { type Check, type Finding, findingMaker } from '../../checks/check.ts';
import type { Facts } from '../../checks/facts.ts';
import { checks } from '../../checks/registry.ts';
import { TimeSlice } from '../../lib/async/slice-lane.ts';
import { messageOf } from '../../lib/error-text.ts';
import { PROBLEMS_MAX_LIMIT, type ProblemsFound, type ProblemsPort } from '../../resources/documents-ports.ts';
import type { OperationRequest } from '../../resources/operation.ts';
import { API_LANE } from '../api-lane.ts';
import { hasScope } from '../scopes.ts';
import { ProblemReport } from './problem-report.ts';
import { type KnownHere, readFacts } from './read-facts.ts';

/** Some findings come with time and not with a change: a certificate that ends, a node that is lost. */
const KEPT_MS = 5_000;

/** Runs the checks over what this server knows. Many readers share one run. */
export class Problems implements ProblemsPort {
  readonly #known: KnownHere;
  #latest: ProblemReport | null = null;
  /** As the latest report has it: it changes without a revision. */
  #storeCode: string | undefined;
  #running: Promise<ProblemReport> | null = null;

  constructor(known: KnownHere) {
    this.#known = known;
  }

  async find(limit: number, { principal }: Pick<OperationRequest, 'principal'>): Promise<ProblemsFound> {
    const mayRead = ({ nouns }: Check): boolean => nouns.every((noun) => hasScope(principal, `${noun}:read`));
    return (await this.#report()).shownTo(mayRead, limit);
  }

  /** Never older than the revision at the call, so that a client sees the effect of its own write. */
  async #report(): Promise<ProblemReport> {
    const { replica, clock } = this.#known;
    const { revision } = replica;
    const ageMs = clock.nowMs() - (this.#latest?.checkedAtMs ?? 0);
    const isSameStore = this.#known.storeProblem()?.code === this.#storeCode;
    if (this.#latest?.revision === revision && isSameStore && ageMs >= 0 && ageMs < KEPT_MS) return this.#latest;
    const report = await this.#run();
    // A run that had begun before may not know of the write; the next one does.
    return report.revision >= revision ? report : this.#run();
  }

  #run(): Promise<ProblemReport> {
    this.#running ??= this.#check().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  async #check(): Promise<ProblemReport> {
    const { replica, clock, ref } = this.#known;
    const report = new ProblemReport({ revision: replica.revision, nowMs: clock.nowMs() }, PROBLEMS_MAX_LIMIT, ref);
    const slice = new TimeSlice(API_LANE);
    const facts = await readFacts(this.#known, slice);
    this.#storeCode = facts.storeProblem?.code;
    for (const check of checks) {
      const add = report.open(check);
      for (const finding of contained(check, facts)) {
        if (finding !== null) add(finding);
        if (slice.isOver) await slice.next();
      }
    }
    this.#latest = report;
    return report;
  }
}

/** A record that a check cannot read must not hide the findings of the others. */
function* contained(check: Check, facts: Facts): Generator<Finding | null> {
  try {
    yield* check.run(facts);
  } catch (error) {
    const message = `this check stopped at something that it could not read: ${messageOf(error)}`;
    yield findingMaker(check.name).problem(message, 'look for a record that the API did not write, and replace it');
  }
}
