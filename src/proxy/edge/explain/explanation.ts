import type { HeaderList } from '../../../kit/http/header-values.ts';
import type { JsonObject } from '../../../kit/json.ts';
import type { AssumedPerson, ClientCertificate, Permit, TrafficRequest } from '../../../modules/contract/decides.ts';
import { formatTraceparent, traceParentOf, writeTraceContext } from '../../tracing/trace-context.ts';
import type { ClientSide, ConnectionFacts } from '../connections/connection-facts.ts';
import { ReceivedRequest } from '../exchange/received-request.ts';
import type { ForwardableRequest, ForwardingRuntime } from '../forwarding/forwarded-request.ts';
import type { RequestHead } from '../http/request-head.ts';

/** Not a `URL`, which would resolve dots and escapes that the edge must see. */
interface HypotheticalUrl {
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
  /** The route's path, which people know it by. */
  readonly match: string;
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
  /** Path of the route; null without one. */
  readonly match: string | null;
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

/** No trace has this id, and no span. */
const [NO_TRACE, NO_SPAN] = ['0'.repeat(32), '0'.repeat(16)];

/** Shows that the upstream gets a trace context, with an id only if the client sent it: nothing is recorded. */
function explainedTrace(headers: HeaderList): NonNullable<ForwardableRequest['trace']> {
  const { traceId = NO_TRACE, state = null } = traceParentOf(headers) ?? {};
  return {
    forHop: undefined,
    writeTo: (into) => writeTraceContext(into, formatTraceparent(traceId, NO_SPAN, false), state),
  };
}

/** As long as a real one, and never given to one. */
const EXPLAINED_ID = `rq_${'0'.repeat(27)}`;

interface HypotheticalFacts {
  readonly head: RequestHead;
  readonly address: string;
  readonly clientAddress: string;
  readonly clientCertificate: ClientCertificate | null;
  readonly nowMs: number;
  readonly runtime: ForwardingRuntime;
}

/** A request that nobody has sent, as modules see it: its body is empty, and nothing waits for its response. */
export class HypotheticalRequest extends ReceivedRequest implements TrafficRequest {
  readonly id = EXPLAINED_ID;
  readonly nowMs: number;
  readonly clientAddress: string;
  readonly runtime: ForwardingRuntime;
  readonly scheme: 'http' | 'https';
  readonly trace: NonNullable<ForwardableRequest['trace']> | null;
  bytesIn = 0;
  readonly tunnelNode = null;
  readonly counter = null;
  permit: Permit | null = null;
  isExemptFromLogin = false;

  constructor({ head, address, clientAddress, clientCertificate, nowMs, runtime }: HypotheticalFacts) {
    const connection: ConnectionFacts = {
      serverName: '',
      edgeId: '',
      tlsGeneration: '',
      tlsVersion: 'TLSv1.3',
      clientAuthorities: [],
      remoteAddress: address,
      isFromProxy: false,
      clientCertificate,
      retire: () => {},
    };
    const client = { head, source: null, trailers: () => [], isBodyWhole: () => true };
    // Modules and the forwarded request read only what is here: a request without a body has nothing to write to.
    super(connection, client as unknown as ClientSide);
    this.nowMs = nowMs;
    this.clientAddress = clientAddress;
    this.runtime = runtime;
    this.scheme = runtime.scheme;
    this.trace = runtime.isTraced === true ? explainedTrace(head.headers) : null;
  }
}
