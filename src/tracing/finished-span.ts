/** The values of OpenTelemetry's `SpanKind`. */
export const SPAN_KINDS = { internal: 0, server: 1, client: 2 } as const;

/** A span as the parts that make spans describe it. */
export interface FinishedSpan {
  readonly name: string;
  readonly kind: keyof typeof SPAN_KINDS;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | null;
  /** Whether another program has made the parent. */
  readonly isParentRemote: boolean;
  /** Milliseconds since 1970, with fractions. */
  readonly startMs: number;
  readonly endMs: number;
  /** Names of OpenTelemetry's semantic conventions, or `postern.…`. */
  readonly attributes: Readonly<Record<string, string | number>>;
  readonly isError: boolean;
}

export interface SpanSink {
  /** All spans of this node for one request. */
  send(spans: readonly FinishedSpan[]): void;
}
