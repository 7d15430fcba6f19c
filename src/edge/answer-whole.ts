import type { HeaderList } from '../lib/http/header-list.ts';
import type { ResponseWriter } from './http/response-writer.ts';

export interface WholeResponse {
  readonly status: number;
  readonly headers: HeaderList;
  readonly body: Buffer;
  readonly trailers: HeaderList;
}

/** Sends a response whose body is complete. */
export function answerWhole(writer: ResponseWriter, { status, headers, body, trailers }: WholeResponse): void {
  if (trailers.length === 0) {
    writer.answer(status, headers, body);
    return;
  }
  // HTTP/1.1 has no trailers after a Content-Length.
  writer.head(status, headers, null);
  writer.write(body);
  writer.end(trailers);
}
