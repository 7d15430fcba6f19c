export interface HttpLimits {
  readonly maxHeaderBytes: number;
  readonly maxHeaderCount: number;
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly keepAliveTimeoutMs: number;
  /** How long a client may read nothing while response data is waiting. */
  readonly sendTimeoutMs: number;
  readonly maxConcurrentStreams: number;
}
