import type { HeaderList } from '../lib/header-list.ts';
import { HeadTooLargeError } from '../lib/http2-heads.ts';
import type { Exchange } from './exchange.ts';
import type { ResponseWriter } from './http/response-writer.ts';

/**
 * Sends a response of the edge itself. Over HTTP/2 a client can announce that it accepts hardly any headers
 * (SETTINGS_MAX_HEADER_LIST_SIZE), and then there is no smaller response. Returns false if it was cut instead.
 */
export function answerOrCut(writer: ResponseWriter, status: number, headers: HeaderList, body: Buffer): boolean {
  try {
    writer.answer(status, headers, body);
    return true;
  } catch (error) {
    if (!(error instanceof HeadTooLargeError)) throw error;
    writer.cut();
    return false;
  }
}

/** The same for an exchange. If its client accepts no response, nobody else is to blame. */
export function answerExchange(exchange: Exchange, status: number, headers: HeaderList, body: Buffer): void {
  if (answerOrCut(exchange.client.writer, status, headers, body)) {
    exchange.status = status;
    exchange.bytesOut += body.length;
    return;
  }
  exchange.status = 0;
  exchange.errorCode = null;
  exchange.refusedBy = 'client:accepts_no_headers';
}
