import type { Check, Finding } from '../../checks/check.ts';
import type { FoundProblem, ProblemsFound } from '../../resources/documents-ports.ts';
import type { SharedPorts } from '../../resources/shared-ports.ts';

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
export class ProblemReport {
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
