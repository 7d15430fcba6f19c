import type { Readable } from 'node:stream';
import type { HeaderList } from '../../lib/http/header-values.ts';
import type { RequestHead } from '../http/request-head.ts';
import type { ResponseWriter } from '../http/response-writer.ts';

/** The request of a client, and the writer of its response. */
export interface ClientSide {
  readonly head: RequestHead;
  readonly writer: ResponseWriter;
  /** Null when there is no body. */
  readonly source: Readable | null;
  readonly trailers: () => HeaderList;
  /** Called once the source has ended: whether the client marked the end of the body. */
  readonly isBodyWhole: () => boolean;
  /** Bytes at the start of the source that a module has read: they are already counted. */
  readonly countedBytes?: number;
  /** What modules have changed beside the headers; absent: nothing. */
  readonly changedHead?: ChangedHead;
}

/** How the request for the upstream differs from that of the client. */
export interface ChangedHead {
  /** The Host for the upstream; null: that of the client. */
  readonly host: string | null;
  /** Path and query for the upstream; null: those of the client. */
  readonly target: string | null;
  /** Headers that the edge does not add. */
  readonly withoutForwarded: ReadonlySet<string>;
}
