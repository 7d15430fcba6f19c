import type { Readable } from 'node:stream';
import type { HeaderList } from '../../lib/http/header-values.ts';
import type { HeadReading } from './request-head.ts';
import type { ResponseWriter } from './response-writer.ts';

/** A request of either protocol, before it is known whether it is served. */
export interface IncomingRequest {
  readonly reading: HeadReading;
  readonly writer: ResponseWriter;
  /** Null when there is no body. */
  readonly source: Readable | null;
  readonly trailers: () => HeaderList;
  /** Called once the source has ended: whether the client marked the end of the body. */
  readonly isBodyWhole: () => boolean;
  /** For an error page when the head could not be parsed. */
  readonly accept: string | undefined;
}
