import type { Transform } from 'node:stream';
import { type ListenerOwner, listen, listenOnce } from '../../../kit/guarded-listeners.ts';
import type { HeaderList } from '../../../kit/http/header-values.ts';
import type { TrafficRequest } from '../../../modules/contract/decides.ts';
import type { ResponseTransform, TrafficResponseHead } from '../../../modules/contract/prepared-module.ts';
import type { ModuleWith } from '../../snapshot/edge-snapshot.ts';
import { assertResponseHeaders } from './module-headers.ts';

type BodyChange = ResponseTransform & { readonly createStream: () => Transform };

/** One response after the changes of a route's modules. */
export interface ChangedResponse extends Pick<ResponseTransform, 'headers'> {
  /** Changes of the body, in order. Empty where no body follows. */
  readonly bodies: readonly BodyChange[];
  /** The upstream's announced length does not apply to the client. */
  readonly isLengthOpen: boolean;
  /** Every change, in order: each may change the trailers. */
  readonly all: readonly ResponseTransform[];
}

/** Null when no module changes anything. */
export function changedResponse(
  request: TrafficRequest,
  changers: readonly ModuleWith<'transform'>[],
  head: TrafficResponseHead,
): ChangedResponse | null {
  let all: ResponseTransform[] | null = null;
  let bodies: BodyChange[] | null = null;
  let { headers } = head;
  for (const { name, prepared } of changers) {
    const change = prepared.transform(request, seenHead(head, headers, bodies !== null));
    if (change === null) continue;
    assertResponseHeaders(name, change.headers, headers);
    headers = change.headers;
    all ??= [];
    all.push(change);
    if (!changesBody(change)) continue;
    bodies ??= [];
    bodies.push(change);
  }
  if (all === null) return null;
  return { headers, all, bodies: hasBody(request, head) ? (bodies ?? NONE) : NONE, isLengthOpen: bodies !== null };
}

/** Facts about the upstream's body do not hold for a changed one. */
function seenHead(head: TrafficResponseHead, headers: TrafficResponseHead['headers'], isBodyChanged: boolean) {
  if (isBodyChanged) return { status: head.status, headers, bodyBytes: null };
  return headers === head.headers ? head : { ...head, headers };
}

/** In one call, if every change supports it. */
export function changedWhole(bodies: readonly BodyChange[], body: Buffer): Buffer {
  let changed = body;
  for (const change of bodies) changed = change.whole?.(changed) ?? changed;
  return changed;
}

export function areWhole(bodies: readonly BodyChange[]): boolean {
  return bodies.every((change) => change.whole !== undefined);
}

export function changedTrailers(
  changed: ChangedResponse | null,
  trailers: TrafficResponseHead['headers'],
): TrafficResponseHead['headers'] {
  let now = trailers;
  for (const change of changed?.all ?? NONE) {
    if (change.trailers !== undefined) now = change.trailers(now);
  }
  return now;
}

const NONE: readonly never[] = [];

function changesBody(change: ResponseTransform): change is BodyChange {
  return change.createStream !== null;
}

function hasBody({ method }: TrafficRequest, { status }: TrafficResponseHead): boolean {
  return method !== 'HEAD' && status !== 204 && status !== 304;
}

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

/**
 * How long a small response may be held back after its head, so that it can be changed as a whole: longer than an
 * upstream pauses between head and body of one response, shorter than anybody notices.
 */
const MAX_HOLD_MS = 10;

/**
 * A response of known, small length on its way to a module that changes it as a whole. Head and body are held until the
 * end has arrived or, when that takes too long, until `onLate` continues with the part so far.
 */
export class GatheredBody {
  /** The head as changed by the module. */
  readonly headers: HeaderList;
  readonly chunks: Buffer[] = [];
  readonly #timer: NodeJS.Timeout;

  constructor(headers: HeaderList, onLate: (body: GatheredBody) => void) {
    this.headers = headers;
    this.#timer = setTimeout(onLate, MAX_HOLD_MS, this);
  }

  /** Never more than was announced: the upstream client enforces it. */
  add(chunk: Buffer): void {
    this.chunks.push(chunk);
  }

  drop(): void {
    clearTimeout(this.#timer);
  }
}
