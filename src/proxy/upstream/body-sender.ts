import { attach, guarded, ignoreErrors, type ListenerOwner, reportBug } from '../../kit/guarded-listeners.ts';
import type { HeaderList } from '../../kit/http/header-values.ts';
import { bufferPassed } from '../../kit/net/waiting-bytes.ts';
import type { BodySource, RequestBody } from './upstream.ts';

export type StreamedBody = Exclude<RequestBody, { readonly framing: 'none' }>;

/** Destination of a request's body. */
export interface BodySink {
  /** Returns false when no more should be written until `BodySender.resume`. */
  writeBody(chunk: Buffer): boolean;
  endBody(trailers: HeaderList): void;
  /** The body does not match its announced length: the request can no longer end properly. */
  onBodyProblem(message: string): void;
  /** A bug in the code that carries the body. */
  contain(error: unknown): void;
}

const NO_TRAILERS: HeaderList = [];

/**
 * Carries a request's body from its source to the connection, with back-pressure, and enforces its announced length.
 * Before `start` and after `stop` the source is paused, so that another connection can still send the part that nobody
 * has read.
 */
export class BodySender implements ListenerOwner {
  /** Whether anything was read from the source: then it cannot be sent again. */
  isConsumed = false;
  /** The last byte was written to the sink. */
  isDone = false;
  readonly #body: StreamedBody;
  readonly #source: BodySource;
  #sink: BodySink | null = null;
  /** Including the last chunk. */
  #sentBytes = 0;
  /** The chunk that completes a body of known length. It waits for the end of the source. */
  #last: Buffer | null = null;

  constructor(body: StreamedBody) {
    this.#body = body;
    this.#source = body.source;
    // Other listeners may already have set the source flowing: nothing may be lost while a connection is made.
    body.source.pause();
    // A source may fail even when nobody reads it; its owner handles that.
    ignoreErrors(body.source);
  }

  get isStarted(): boolean {
    return this.#sink !== null;
  }

  start(sink: BodySink): void {
    this.#sink = sink;
    // A body without a byte may already have ended on a connection that turned out to be dead.
    this.isDone = false;
    const source = this.#source;
    attach(source, 'data', this.#onData);
    attach(source, 'end', this.#onEnd);
    attach(source, 'error', this.#onCut);
    attach(source, 'close', this.#onCut);
    if (source.readableEnded) this.#onEnd();
    else if (source.destroyed) process.nextTick(this.#onCut);
    else source.resume();
  }

  resume(): void {
    if (this.#sink !== null) this.#source.resume();
  }

  stop(): void {
    if (this.#sink === null) return;
    this.#sink = null;
    const source = this.#source;
    // A source that was read to its last byte must still emit its end.
    if (!this.isDone) source.pause();
    source.off('data', this.#onData);
    source.off('end', this.#onEnd);
    source.off('error', this.#onCut);
    source.off('close', this.#onCut);
  }

  readonly #onData = guarded(this, (chunk: Buffer): void => {
    const sink = this.#sink;
    if (sink === null || chunk.length === 0) return;
    bufferPassed(chunk.length);
    this.isConsumed = true;
    this.#sentBytes += chunk.length;
    const body = this.#body;
    if (body.framing === 'length' && this.#sentBytes > body.bytes) {
      // Not one byte more may be sent: the upstream would read it as the next request.
      this.#fail(`the body is longer than the ${body.bytes} bytes that were announced`);
      return;
    }
    body.onBytes?.(chunk.length);
    // An upstream takes the announced length for the end, which the source may still deny.
    if (body.framing === 'length' && this.#sentBytes === body.bytes) this.#last = chunk;
    else if (!sink.writeBody(chunk)) this.#source.pause();
  });

  readonly #onEnd = guarded(this, (): void => {
    const sink = this.#sink;
    const body = this.#body;
    if (sink === null || this.isDone) return;
    if (body.framing === 'length' && this.#sentBytes < body.bytes) {
      this.#fail(`the body ended after ${this.#sentBytes} of ${body.bytes} bytes`);
      return;
    }
    if (body.isWhole?.() === false) {
      this.#onCut();
      return;
    }
    this.isDone = true;
    if (this.#last !== null) sink.writeBody(this.#last);
    sink.endBody(body.framing === 'chunked' ? body.trailers() : NO_TRAILERS);
  });

  readonly #onCut = guarded(this, (): void => {
    if (!this.isDone) this.#fail('the body was cut off at its source');
  });

  contain(error: unknown): void {
    const sink = this.#sink;
    this.stop();
    if (sink === null) reportBug(error, { part: 'request body' });
    else sink.contain(error);
  }

  #fail(message: string): void {
    const sink = this.#sink;
    this.stop();
    sink?.onBodyProblem(message);
  }
}
