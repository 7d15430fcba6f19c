import type { HeaderList } from '../lib/http/header-list.ts';
import type { FinishedSpan } from './finished-span.ts';
import { NewContexts } from './new-contexts.ts';
import { RecordedTrace, type RequestTrace } from './request-trace.ts';
import { Sampling } from './sampling.ts';
import type { SpanCounts, SpanQueue } from './span-queue.ts';
import { formatTraceparent, traceParentOf } from './trace-context.ts';
import { TraceIds } from './trace-ids.ts';
import { UnrecordedTrace } from './unrecorded-trace.ts';

/** What a server needs to trace requests; null in its place: it does not. */
export class Tracing {
  readonly #queue: SpanQueue;
  readonly #sampling: Sampling;
  readonly #ids = new TraceIds();
  readonly #contexts: NewContexts;

  constructor(queue: SpanQueue, options: { readonly sampleRatio: number; readonly samplingKey: string }) {
    this.#queue = queue;
    this.#sampling = new Sampling(options.sampleRatio, options.samplingKey);
    this.#contexts = new NewContexts(this.#sampling);
  }

  /** `headers`: of the client. */
  begin(headers: HeaderList): RequestTrace {
    const parent = traceParentOf(headers);
    if (parent === null) return this.#beginNew();
    const { traceId, state } = parent;
    if (this.#sampling.includes(traceId)) return new RecordedTrace(traceId, parent, this.#ids);
    return new UnrecordedTrace(formatTraceparent(traceId, this.#ids.spanId(), false), state);
  }

  /** First the decision: a request that is not recorded needs no more than a text for its upstream. */
  #beginNew(): RequestTrace {
    if (this.#contexts.next()) return new RecordedTrace(this.#contexts.traceId, null, this.#ids);
    return new UnrecordedTrace(this.#contexts.traceparent, null);
  }

  send(spans: readonly FinishedSpan[]): void {
    this.#queue.send(spans);
  }

  get counts(): Readonly<SpanCounts> {
    return this.#queue.counts;
  }

  get queued(): number {
    return this.#queue.queued;
  }

  /** Sends the rest, for at most `withinMs`. */
  close(withinMs: number): Promise<void> {
    return this.#queue.close(withinMs);
  }
}
