/**
 * A finished request, as the access log and events report it. A type, not an interface: loggers take a Record, to which
 * an interface is not assignable.
 */
export type RequestFacts = {
  readonly request_id: string;
  readonly method: string;
  readonly host: string;
  /** Without the query. */
  readonly path: string;
  readonly status: number;
  readonly client: string;
  readonly edge: string | null;
  readonly route: string | null;
  readonly upstream: string | null;
  /** Name of the node that passed the request on to its agent, when that is another one. */
  readonly tunnel_node?: string;
  readonly bytes_in: number;
  readonly bytes_out: number;
  readonly ms: number;
  /** Id of the user, service account or guest link, or the subject of a workload. */
  readonly user?: string;
  readonly auth_kind?: 'user' | 'service_account' | 'workload' | 'guest';
  /** What access rules decided, unless they let the request pass. */
  readonly access?: 'refused' | 'would_refuse';
  /** The access rule that decided, such as `deny[0]`, or `none`. */
  readonly access_rule?: string;
  readonly error_code?: string;
  readonly refused_by?: string;
  /** The module and reason of a redirect. */
  readonly answered_by?: string;
  /**
   * The module and rule of a rehearsal that would have refused it, other than an access rule: `rate_limit:limits[0]`.
   */
  readonly would_refuse_by?: string;
  /** For events: what each module that decides said, by its name. */
  readonly decisions?: Readonly<Record<string, ModuleDecision>>;
};

/** `answer`: it redirected the request. `invalid`: it was not asked. */
export type ModuleDecision = 'allow' | 'allow_while_open' | 'block' | 'answer' | 'invalid';

/** A finished connection that was forwarded undecrypted. */
export interface RawConnectionFacts {
  readonly endpointId: string;
  readonly tunnelId: string;
  /** Name of the node that passed the connection on to its agent; null when no other node was involved. */
  readonly tunnelNode: string | null;
  readonly proto: 'tcp' | 'tls';
  readonly clientAddress: string;
  /** `ip:port` that the client connected to. */
  readonly localAddress: string;
  readonly startedAtMs: number;
  readonly seconds: number;
  /** From the client. */
  readonly bytesIn: number;
  /** To the client. */
  readonly bytesOut: number;
  /** `done`, or a stable reason for an early end, such as `no_tunnel`, `refused`, `withdrawn`, `client_gone`. */
  readonly outcome: string;
}
