import type { JsonObject } from '../../lib/json.ts';
import type { AssumedPerson } from '../../modules/contract/decides.ts';

/** Not a `URL`, which would resolve dots and escapes that the edge must see. */
export interface HypotheticalUrl {
  readonly scheme: 'http' | 'https';
  /** As in the Host header. */
  readonly authority: string;
  /** Lower case, without the port. */
  readonly host: string;
  /** Path and query. */
  readonly target: string;
}

/** A request that nobody has sent. */
export interface HypotheticalQuestion {
  readonly url: HypotheticalUrl;
  readonly method: string;
  /** Flat, as a client would send them. */
  readonly headers: readonly string[];
  /** Address of the connected peer. */
  readonly address: string;
  /** PEM of the client's certificate, and of those that it sends along. */
  readonly clientCertificatePem: string | null;
  /** Somebody who is logged in, whether or not they ever were. */
  readonly as: Omit<AssumedPerson, 'logins'> | null;
}

export interface ExplainedDecision {
  /** The module; `edge` and `backend` for the rest of the edge. */
  readonly module: string;
  readonly decision: 'pass' | 'refuse' | 'answer' | 'skipped';
  /** Stable name, as in the access log. */
  readonly reason: string;
  readonly rule?: string;
  /** For people. */
  readonly text: string;
}

export interface ExplainedTarget {
  /** As the history names it. */
  readonly name: string;
  readonly kind: 'upstream' | 'tunnel' | 'response' | 'unreachable';
  /** For a tunnel: the node that its agent is connected to, and where the agent forwards to. */
  readonly node?: string;
  readonly forwardsTo?: string;
}

export interface Candidate {
  readonly routeId: string;
  readonly whyNot: string;
}

/** How the forwarded request differs from what the client sent. */
export interface UpstreamChanges {
  readonly headersAdded: JsonObject;
  readonly headersRemoved: readonly string[];
  /** Path and query, if they change. */
  readonly target?: string;
}

/** What the edge would do with a request. */
export interface Explanation {
  readonly edgeId: string | null;
  readonly routeId: string | null;
  readonly candidates: readonly Candidate[];
  readonly decisions: readonly ExplainedDecision[];
  readonly outcome: {
    /** Absent: there would be no response, or an upstream decides it. */
    readonly status?: number;
    readonly errorCode?: string;
    /** Where a redirect leads. */
    readonly location?: string;
    readonly targets: readonly ExplainedTarget[];
  };
  /** Null: nothing is forwarded. */
  readonly upstreamRequest: UpstreamChanges | null;
}
