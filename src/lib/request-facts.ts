/**
 * A request that is over, as the edge's access log writes it and as events are told of it. A type and not an interface: loggers take
 * records of anything, which an interface is not.
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
  /** Who has logged in. */
  readonly user?: string;
  readonly error_code?: string;
  readonly refused_by?: string;
};
