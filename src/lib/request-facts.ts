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
  readonly bytes_in: number;
  readonly bytes_out: number;
  readonly ms: number;
  /** The logged-in user. */
  readonly user?: string;
  readonly error_code?: string;
  readonly refused_by?: string;
};
