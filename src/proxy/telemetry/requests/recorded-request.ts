import type { HeaderList } from '../../../kit/http/header-values.ts';

/**
 * A finished request as the history gets and returns it: one flat object. It refers to no snapshot, so that a replaced
 * configuration is not kept in memory.
 */
export interface RecordedRequest {
  readonly id: string;
  readonly startedAtMs: number;
  readonly durationMs: number;
  /** Null when the request could not be parsed: nothing that it claims is repeated. */
  readonly method: string | null;
  readonly host: string | null;
  /** Without the query. */
  readonly path: string | null;
  /** Null unless queries are kept. */
  readonly query: string | null;
  readonly status: number;
  readonly errorCode: string | null;
  readonly edgeId: string | null;
  readonly routeId: string | null;
  readonly clientAddress: string;
  readonly userId: string | null;
  readonly userKind: string | null;
  /** The listed client headers, names in lower case. */
  readonly headers: HeaderList;
  readonly bytesIn: number;
  readonly bytesOut: number;
  /** Answers of modules that let the request pass, as pairs: a module's name and its answer. */
  readonly passes: readonly (string | PassedBy)[];
  /** Modules that did not answer at once: names and milliseconds in turn. */
  readonly waits: readonly (string | number)[];
  /** What ended it early, such as `ip_restriction:address`. */
  readonly refusedBy: string | null;
  /** What redirected it, such as `redirect:rule`. */
  readonly answeredBy: string | null;
  /** The rule that refused or redirected it, as a person reads it. */
  readonly decidingRule: string | null;
  readonly target: string | null;
  /** Name of the node that passed the request on to its agent, when that is another one. */
  readonly tunnelNode: string | null;
  /** Milliseconds from the start until all modules had admitted it; null when they did not. */
  readonly admittedMs: number | null;
  /** Milliseconds from the start until the response began; null when it never did. */
  readonly answeredMs: number | null;
}

/** What statistics need of a finished request. */
export type CountedRequest = Pick<
  RecordedRequest,
  'edgeId' | 'routeId' | 'status' | 'errorCode' | 'durationMs' | 'bytesIn' | 'bytesOut'
>;

/** Why a module let a request pass: made once per configuration, not per request. */
export interface PassedBy {
  readonly reason: string;
  readonly rule?: { readonly text: string };
  readonly wouldRefuse?: { readonly reason: string; readonly rule: string | null };
}

/**
 * A text that the history may keep, truncated at `maxLength`. A part of a longer text would keep all of that in memory,
 * which a client chose: texts above `asIs` characters are copied.
 */
export function keptText(text: string, asIs: number, maxLength: number): string {
  if (text.length <= asIs) return text;
  // V8 joins texts by copying them, once it needs the characters. A copy through a buffer takes three times as long.
  if (text.length <= maxLength) return `${text} `.slice(0, -1);
  return `${Buffer.from(text.slice(0, maxLength), 'latin1').toString('latin1')}…`;
}
