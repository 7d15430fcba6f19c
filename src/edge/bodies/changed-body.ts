import type { Transform } from 'node:stream';
import { type ListenerOwner, listen, listenOnce } from '../../lib/guarded-listeners.ts';
import type { BodyChange } from '../forwarding/response-changes.ts';

/** Receives a changed body. */
export interface ChangedBodyReader extends ListenerOwner {
  /** Returns false when it cannot accept more; `ChangedBody.resume` is called when it can. */
  onChangedChunk(chunk: Buffer): boolean;
  /** The first stream accepts data again. */
  onChangedRoom(): void;
  onChangedEnd(): void;
  /** A module's stream failed, or closed before its end. */
  onChangedFailure(error: unknown): void;
}

/**
 * A response's body on its way through the streams of the modules that change it, one after the other. A slow client
 * applies back-pressure through each of them up to the upstream. When one fails, its reader destroys all.
 */
export class ChangedBody {
  readonly #streams: Transform[] = [];

  constructor(changes: readonly BodyChange[], reader: ChangedBodyReader) {
    try {
      for (const change of changes) this.#streams.push(change.createStream());
    } catch (error) {
      this.destroy();
      throw error;
    }
    for (const [at, stream] of this.#streams.entries()) this.#connect(stream, this.#streams[at + 1] ?? null, reader);
    listen(this.#first, 'drain', reader, () => reader.onChangedRoom());
  }

  get #first(): Transform {
    return this.#streams[0] as Transform;
  }

  /** Returns false when it cannot accept more; `onChangedRoom` is called when it can. */
  write(chunk: Buffer): boolean {
    return this.#first.write(chunk);
  }

  end(): void {
    this.#first.end();
  }

  resume(): void {
    this.#streams.at(-1)?.resume();
  }

  destroy(): void {
    for (const stream of this.#streams) stream.destroy();
  }

  #connect(stream: Transform, next: Transform | null, reader: ChangedBodyReader): void {
    listen(stream, 'error', reader, (error: unknown) => reader.onChangedFailure(error));
    listenOnce(stream, 'close', reader, () => {
      if (!stream.readableEnded) reader.onChangedFailure(new Error("a module's stream closed before its end"));
    });
    if (next === null) {
      listen(stream, 'data', reader, (chunk: Buffer) => {
        if (!reader.onChangedChunk(chunk)) stream.pause();
      });
      listenOnce(stream, 'end', reader, () => reader.onChangedEnd());
      return;
    }
    listen(stream, 'data', reader, (chunk: Buffer) => {
      if (!next.write(chunk)) stream.pause();
    });
    listen(next, 'drain', reader, () => stream.resume());
    listenOnce(stream, 'end', reader, () => next.end());
  }
}
