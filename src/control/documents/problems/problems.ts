import { TimeSlice } from '../../../kit/async/slices.ts';
import { messageOf } from '../../../kit/error-text.ts';
import { type Finding, findingTable } from '../../../kit/findings.ts';
import type { Facts } from '../../findings/facts.ts';
import { checks } from '../../findings/registry.ts';
import type { Check } from '../../findings/subject.ts';
import type { OperationRequest } from '../../resources/operation.ts';
import {
  type FoundProblem,
  PROBLEMS_MAX_LIMIT,
  type ProblemsFound,
  type ProblemsPort,
  type SharedPorts,
} from '../../resources/ports.ts';
import { hasScope } from '../../resources/scopes.ts';
import { API_QUEUE } from '../long-answer.ts';
import { type KnownHere, readFacts } from './read-facts.ts';

type Severity = FoundProblem['severity'];

const SEVERITIES: readonly Severity[] = ['problem', 'warning', 'hint'];
/** Names and messages of modules can be long. */
const MAX_TEXT = 500;
/** A thousand fine hosts need no line each. */
const MAX_PASSED = 10;

interface FoundByCheck {
  readonly check: Check;
  readonly kept: Record<Severity, Finding[]>;
  readonly counts: Record<Severity, number>;
  readonly passed: { count: number; readonly messages: string[] };
}

/** What all checks have found, for every reader: each gets the part that the key may read. */
class ProblemReport {
  readonly revision: number;
  readonly checkedAtMs: number;
  readonly #maxKept: number;
  readonly #ref: SharedPorts['ref'];
  readonly #found: FoundByCheck[] = [];

  constructor(at: { readonly revision: number; readonly nowMs: number }, maxKept: number, ref: SharedPorts['ref']) {
    this.revision = at.revision;
    this.checkedAtMs = at.nowMs;
    this.#maxKept = maxKept;
    this.#ref = ref;
  }

  /** The place for the findings of a check. All are counted, and the first ones of each severity are kept. */
  open(check: Check): (finding: Finding) => void {
    const found: FoundByCheck = {
      check,
      kept: { problem: [], warning: [], hint: [] },
      counts: { problem: 0, warning: 0, hint: 0 },
      passed: { count: 0, messages: [] },
    };
    this.#found.push(found);
    return (finding) => {
      const { level } = finding;
      if (level === 'ok') {
        found.passed.count += 1;
        if (found.passed.count <= MAX_PASSED) found.passed.messages.push(bounded(finding.message));
        return;
      }
      found.counts[level] += 1;
      if (found.kept[level].length < this.#maxKept) found.kept[level].push(finding);
    };
  }

  /** The worst first. */
  shownTo(mayRead: (check: Check) => boolean, limit: number): ProblemsFound {
    const readable = this.#found.filter(({ check }) => mayRead(check));
    const counts = { problem: 0, warning: 0, hint: 0 };
    const problems: FoundProblem[] = [];
    for (const severity of SEVERITIES) {
      for (const found of readable) {
        counts[severity] += found.counts[severity];
        for (const finding of found.kept[severity].slice(0, limit - problems.length))
          problems.push(this.#shown(severity, finding));
      }
    }
    const hidden = this.#found.filter((found) => !readable.includes(found)).map(({ check }) => check.name);
    const passed = readable
      .filter((found) => found.passed.count > 0)
      .map(({ check, passed: { count, messages } }) => ({ check: check.name, count, messages }));
    return { problems, counts, passed, checkedAtMs: this.checkedAtMs, skipped: [...new Set(hidden)] };
  }

  #shown(severity: Severity, { check, message, advice, about }: Finding): FoundProblem {
    return {
      ...{ severity, check, message: bounded(message) },
      advice: advice === undefined ? null : bounded(advice),
      object: about === undefined ? null : this.#ref(about.id, about.parentId),
    };
  }
}

function bounded(text: string): string {
  return text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT - 1).toWellFormed()}…`;
}

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
    const slice = new TimeSlice(API_QUEUE);
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

const STOPPED = {
  check_stopped: {
    level: 'problem',
    text: ({ error }: { readonly error: unknown }) =>
      `this check stopped at something that it could not read: ${messageOf(error)}`,
    advice: 'look for a record that the API did not write, and replace it',
  },
} as const;

/** A record that a check cannot read must not hide the findings of the others. */
function* contained(check: Check, facts: Facts): Generator<Finding | null> {
  try {
    yield* check.run(facts);
  } catch (error) {
    yield findingTable(check.name, STOPPED).found('check_stopped', { error });
  }
}
