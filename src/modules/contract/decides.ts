import type { ErrorCode, ErrorRows } from '../../lib/errors.ts';
import type { HeaderList } from '../../lib/http/header-list.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { TrafficRequest } from './traffic-request.ts';

/** A capability: decides whether a request may pass. */
export interface Decides {
  /**
   * Called in registry order, and more than once for one request: for streams in flight when the configuration or the
   * requester changes, before paths that a later module serves, and by `explain` for requests that nobody sent. So the
   * call changes nothing that a visitor could notice. A module that does not decide access is asked only for new
   * requests and by `explain`: it neither cuts a stream nor stands before a path under `/.postern/`.
   */
  judge?(request: TrafficRequest): Verdict | Promise<Verdict>;
  /**
   * Called in place of `judge`, once for each request that a visitor sent to the route: counts, spends or computes what
   * the others only ask about. Needs a `judge`.
   */
  admit?(request: TrafficRequest): Verdict | Promise<Verdict>;
  /** The same once more, at the later place that the module declares in `judgesAgainAfter`; absent: it has no more to say. */
  readonly later?: LaterDecision;
}

/** What a module decides at its second place, by what it knows there, such as who sends the request. */
export interface LaterDecision extends Required<Pick<Decides, 'judge'>>, Pick<Decides, 'admit'> {}

/** What a module that decides declares beside `decidesAccess`. */
export interface DeclaresDecisions {
  /** The module after whose place in the order of traffic `later` is asked, whether or not the route uses that module. */
  readonly judgesAgainAfter?: string;
  /** Sentences for the reasons of its verdicts, for people who ask why; absent ones appear by their name alone. */
  readonly reasons?: Readonly<Record<string, string>>;
  /** Decisions about requests that pass, beside `allow`: see `Pass.decision`. */
  readonly otherDecisions?: readonly OtherDecision[];
  /** The codes of its refusals: rows of the errors page and the OpenAPI document, under their own heading. */
  readonly errors?: { readonly title: string; readonly rows: ErrorRows };
}

/** `allow_while_open`: as a probe, while others are refused. */
export type OtherDecision = 'allow_while_open';

/** Made once, not per request: a pass is on the path of every request. */
export type Verdict = Pass | Refusal | Answer;

export interface Pass {
  readonly isPass: true;
  /** Stable name of why it may pass, such as `logged_in`. */
  readonly reason: string;
  /** For explanations, where the sentence for the reason says too little. */
  readonly text?: string;
  /** For events, where `allow` says too little: one of `otherDecisions`. */
  readonly decision?: OtherDecision;
  readonly rule?: DecidingRule;
  /** A rehearsed rule would have refused the request. */
  readonly wouldRefuse?: { readonly reason: string; readonly rule: string | null };
}

export interface Refusal {
  readonly status: number;
  readonly code: ErrorCode;
  /** For the error page: the problem, and what the visitor can do. */
  readonly message: string;
  /** Its heading, instead of the status. */
  readonly title?: string;
  /** Stable value for metrics and log. */
  readonly reason: string;
  /** The rule that refused, where there is one. */
  readonly rule?: DecidingRule;
  /** For access rules: the name of the rule that refused, such as `deny[0]`; null when none let the requester in. */
  readonly accessRule?: string | null;
  readonly headers?: HeaderList;
  /** For programs, beside the message. */
  readonly details?: JsonObject;
  /** For people: a link to continue with. */
  readonly action?: { readonly label: string; readonly href: string };
}

/**
 * A redirect: the module responds itself, and nothing is refused. Only for modules that do not decide access: a stream
 * in progress or a path under `/.postern/` cannot be redirected, so there an answer counts as a refusal.
 */
export interface Answer {
  readonly isAnswer: true;
  /** 3xx. */
  readonly status: number;
  /** Absolute URL, in visible ASCII. */
  readonly location: string;
  /** Stable value for metrics and log. */
  readonly reason: string;
  /** The configured rule, for people. */
  readonly ruleText: string;
}

/** The configured rule that decided. */
export interface DecidingRule {
  /** Kind and id of its record. */
  readonly kind: string;
  readonly id: string;
  /** The record that it belongs to, such as a policy. */
  readonly parent: string;
  /** What it says, such as `deny 10.0.0.0/8`. */
  readonly text: string;
}

/** A promise is not a pass: nobody has decided yet. */
export function isPass(verdict: Verdict | Promise<Verdict>): verdict is Pass {
  return (verdict as Partial<Pass>).isPass === true;
}

export function isAnswer(verdict: Verdict): verdict is Answer {
  return (verdict as Partial<Answer>).isAnswer === true;
}
