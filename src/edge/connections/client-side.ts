import type { Readable } from 'node:stream';
import type { HeaderList } from '../../lib/http/header-list.ts';
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
}
