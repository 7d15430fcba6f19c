import type { HeaderList } from '../lib/header-list.ts';
import type { FinishedSpan } from './finished-span.ts';
import { RequestTrace } from './request-trace.ts';
import { Sampling } from './sampling.ts';
import type { SpanCounts, SpanQueue } from './span-queue.ts';
import { TraceIds } from './trace-ids.ts';

/** What a server needs to trace requests; null in its place: it does not. */
export class Tracing {
  readonly #queue: SpanQueue;
  readonly #sampling: Sampling;
  readonly #ids = new TraceIds();

  constructor(queue: SpanQueue, options: { readonly sampleRatio: number; readonly samplingKey: string }) {
    this.#queue = queue;
    this.#sampling = new Sampling(options.sampleRatio, options.samplingKey);
  }

  /** `headers`: of the client. */
  begin(headers: HeaderList): RequestTrace {
    return new RequestTrace(headers, this.#sampling, this.#ids);
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
