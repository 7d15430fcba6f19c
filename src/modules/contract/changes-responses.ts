import type { Transform } from 'node:stream';
import type { HeaderList } from '../../lib/http/header-list.ts';
import type { TrafficRequest } from './traffic-request.ts';

/** A capability: changes responses on their way to the client. */
export interface ChangesResponses {
  /**
   * Changes a response; null leaves it unchanged. A response passes the modules in reverse registry order: the last
   * module is nearest to the upstream. Each module gets the head that the one before has returned.
   */
  transform?(request: TrafficRequest, head: TrafficResponseHead): ResponseTransform | null;
  /** Changes the headers of 1xx responses, such as early hints. Only with `transform`, and in the same order. */
  informational?(headers: HeaderList): HeaderList;
}

export interface TrafficResponseHead {
  readonly status: number;
  readonly headers: HeaderList;
  /** 0 for a response without a body (HEAD, 204, 304). Null when unknown: also after a module has changed the body. */
  readonly bodyBytes: number | null;
  /**
   * The body itself, where it is the same object for every request until the configuration changes: derived data may be
   * cached.
   */
  readonly fixedBody?: Buffer;
}

export interface ResponseTransform {
  /** The changed head, without framing: the edge computes that. */
  readonly headers: HeaderList;
  /**
   * Transforms the body. Null when only the head changes. Not called for a response without a body (HEAD, 204, 304);
   * its head then announces no length.
   */
  readonly createStream: (() => Transform) | null;
  /**
   * The same in one call, for bodies of known length where that is cheaper: used when the whole body arrives in time
   * and every module that changes the body offers it.
   */
  whole?(body: Buffer): Buffer;
  /** The changed trailers; absent: unchanged. Trailers are sent only after a head that announces no length. */
  trailers?(trailers: HeaderList): HeaderList;
}
