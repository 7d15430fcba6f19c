import type { JsonObject } from '../../lib/json.ts';

/** A request that nobody has sent. */
export interface HypotheticalRequest {
  readonly url: {
    readonly scheme: 'http' | 'https';
    readonly authority: string;
    readonly host: string;
    readonly target: string;
  };
  readonly method: string;
  /** Flat: names and values in turn. */
  readonly headers: readonly string[];
  readonly address: string;
  readonly clientCertificatePem: string | null;
  readonly as: { readonly email: string; readonly claims: JsonObject } | null;
}

export interface ExplainedRequest {
  readonly edgeId: string | null;
  readonly routeId: string | null;
  readonly candidates: readonly { readonly routeId: string; readonly whyNot: string }[];
  readonly decisions: readonly {
    readonly module: string;
    readonly decision: 'pass' | 'refuse' | 'answer' | 'skipped';
    readonly reason: string;
    readonly rule?: string;
    readonly text: string;
  }[];
  readonly outcome: {
    readonly status?: number;
    readonly errorCode?: string;
    readonly location?: string;
    readonly targets: readonly {
      readonly name: string;
      readonly kind: string;
      readonly node?: string;
      readonly forwardsTo?: string;
    }[];
  };
  readonly upstreamRequest: {
    readonly headersAdded: JsonObject;
    readonly headersRemoved: readonly string[];
    readonly target?: string;
  } | null;
  /** Name of the node that explained it. */
  readonly node: string;
}
