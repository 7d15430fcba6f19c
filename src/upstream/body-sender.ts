import type { Readable } from 'node:stream';
import { reportBug } from '../lib/bug-report.ts';
import { attach, guarded, ignoreErrors, type ListenerOwner } from '../lib/guarded-listeners.ts';
import { bufferPassed } from '../lib/passing-buffers.ts';
import type { HeaderList, RequestBody } from './upstream.ts';

export type StreamedBody = Exclude<RequestBody, { readonly framing: 'none' }>;

/** Where the bytes of a request's body go. */
export interface BodySink {
  /** Answers false when no more should come until `BodySender.resume`. */
  writeBody(chunk: Buffer): boolean;
  endBody(trailers: HeaderList): void;
  /** The body is not what was announced: the request cannot be ended properly any more. */
  onBodyProblem(message: string): void;
  /** A bug in what carries the body. */
  contain(error: unknown): void;
}

const NO_TRAILERS: HeaderList = [];

/**
 * Carries a request's body from its source to the wire, with back-pressure, and holds it to its announced length. Before
 * `start` and after `stop` the source is paused, so that another connection can still send what nobody has read yet.
 */
export class BodySender implements ListenerOwner {
  /** Whether anything was read from the source: then it cannot be sent again. */
  isConsumed = false;
  /** The last byte was given to the sink. */
  isDone = false;
  readonly #body: StreamedBody;
  readonly #source: Readable;
  #sink: BodySink | null = null;
  #sentBytes = 0;

  constructor(body: StreamedBody) {
    this.#body = body;
    this.#source = body.source;
    // Others may listen to the source already, which sets it flowing: nothing may get lost while a connection is made.
    body.source.pause();
    // Also when nobody reads it any more, a source may fail; its owner knows.
    ignoreErrors(body.source);
  }

  get isStarted(): boolean {
    return this.#sink !== null;
  }

  start(sink: BodySink): void {
    this.#sink = sink;
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
    // One that was read to its last byte still has its end to tell.
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
      // Not one byte more goes out: it would be read as the next request.
      this.#fail(`the body is longer than the ${body.bytes} bytes that were announced`);
      return;
    }
    body.onBytes?.(chunk.length);
    if (!sink.writeBody(chunk)) this.#source.pause();
    if (body.framing === 'length' && this.#sentBytes === body.bytes && !this.isDone) {
      this.isDone = true;
      sink.endBody(NO_TRAILERS);
    }
  });

  readonly #onEnd = guarded(this, (): void => {
    const sink = this.#sink;
    const body = this.#body;
    if (sink === null || this.isDone) return;
    if (body.framing === 'length' && this.#sentBytes < body.bytes) {
      this.#fail(`the body ended after ${this.#sentBytes} of ${body.bytes} bytes`);
      return;
    }
    if (body.framing === 'chunked' && !body.isWhole()) {
      this.#onCut();
      return;
    }
    this.isDone = true;
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
