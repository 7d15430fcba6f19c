import type { BatchSpanProcessor, ExportResult, HrTime, ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import { atMost } from '../../kit/async/waiting.ts';

/** The values of OpenTelemetry's `SpanKind`. */
const SPAN_KINDS = { internal: 0, server: 1, client: 2 } as const;

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

/** Spans that wait or are being sent: 8 MiB at most, since texts in them are bounded. */
export const MAX_SPANS = 4_096;
const SUCCESS = 0;
const SAMPLED = 1;
const [UNSET, ERROR] = [0, 2];
const NONE: readonly never[] = [];

export interface SpanCounts {
  sent: number;
  /** The collector did not accept them. */
  failed: number;
  /** The queue was full. */
  dropped: number;
}

interface SpanQueueOptions {
  readonly exporter: SpanExporter;
  readonly resource: ReadableSpan['resource'];
  readonly version: string;
  createProcessor(exporter: SpanExporter): Pick<BatchSpanProcessor, 'onEnd' | 'shutdown'>;
  onFailure(error: Error | undefined): void;
}

/** Finished spans on their way to the collector. A trace for which there is no room is dropped as a whole. */
export class SpanQueue implements SpanSink {
  readonly counts: SpanCounts = { sent: 0, failed: 0, dropped: 0 };
  readonly #options: SpanQueueOptions;
  readonly #processor: Pick<BatchSpanProcessor, 'onEnd' | 'shutdown'>;
  readonly #scope: ReadableSpan['instrumentationScope'];
  #queued = 0;
  #isClosed = false;

  constructor(options: SpanQueueOptions) {
    this.#options = options;
    this.#scope = { name: 'postern', version: options.version };
    this.#processor = options.createProcessor({
      export: (spans, done) => this.#export(spans, done),
      shutdown: () => options.exporter.shutdown(),
    });
  }

  get queued(): number {
    return this.#queued;
  }

  send(spans: readonly FinishedSpan[]): void {
    if (this.#isClosed || this.#queued + spans.length > MAX_SPANS) {
      this.counts.dropped += spans.length;
      return;
    }
    this.#queued += spans.length;
    for (const span of spans) this.#processor.onEnd(this.#readable(span));
  }

  /** Sends the rest, for at most `withinMs`. */
  async close(withinMs: number): Promise<void> {
    this.#isClosed = true;
    // A failure is counted where it is reported.
    await atMost(
      this.#processor.shutdown().catch(() => {}),
      withinMs,
      null,
    );
  }

  #export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    const finish = (result: ExportResult): void => {
      this.#queued -= spans.length;
      if (result.code === SUCCESS) this.counts.sent += spans.length;
      else {
        this.counts.failed += spans.length;
        this.#options.onFailure(result.error);
      }
      done(result);
    };
    try {
      this.#options.exporter.export(spans, finish);
    } catch (error) {
      finish({ code: 1, error: error as Error });
    }
  }

  #readable(span: FinishedSpan): ReadableSpan {
    const { traceId, spanId, parentSpanId, startMs, endMs } = span;
    const context = { traceId, spanId, traceFlags: SAMPLED };
    const parentSpanContext =
      parentSpanId === null
        ? undefined
        : { traceId, spanId: parentSpanId, traceFlags: SAMPLED, isRemote: span.isParentRemote };
    return {
      name: span.name,
      kind: SPAN_KINDS[span.kind],
      spanContext: () => context,
      // No spread: an object of this size takes 2 µs with one.
      parentSpanContext,
      startTime: hrTime(startMs),
      endTime: hrTime(Math.max(startMs, endMs)),
      duration: hrTime(Math.max(0, endMs - startMs)),
      ended: true,
      status: { code: span.isError ? ERROR : UNSET },
      attributes: span.attributes,
      links: NONE,
      events: NONE,
      resource: this.#options.resource,
      instrumentationScope: this.#scope,
      droppedAttributesCount: 0,
      droppedEventsCount: 0,
      droppedLinksCount: 0,
    };
  }
}

function hrTime(ms: number): HrTime {
  const micros = Math.round(ms * 1000);
  return [Math.floor(micros / 1e6), (micros % 1e6) * 1000];
}
