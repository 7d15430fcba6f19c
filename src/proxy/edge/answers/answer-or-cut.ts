import type { HeaderList } from '../../../kit/http/header-values.ts';
import { HeadTooLargeError } from '../../../kit/http2/heads.ts';
import { CLIENT_LIMIT } from '../../upstream/upstream-failure.ts';
import { edgeErrors } from '../errors.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { ResponseWriter } from '../http/incoming-request.ts';
import type { ErrorAnswer } from './error-page.ts';

const TOO_MANY_HEADERS: ErrorAnswer = {
  status: edgeErrors.rows.ERR_POSTERN_CLIENT_HEADER_LIMIT.status,
  code: 'ERR_POSTERN_CLIENT_HEADER_LIMIT',
  message:
    'The response has more headers than your client accepts (SETTINGS_MAX_HEADER_LIST_SIZE). Raise that limit in the client.',
};

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
  exchange.answeredBy = null;
  exchange.refusedBy = 'client:accepts_no_headers';
}

/** Ends an exchange whose response has more headers than the client accepts. The upstream did nothing wrong. */
export function refuseForClient(exchange: Exchange): void {
  if (exchange.client.writer.isHeadSent) exchange.cut(CLIENT_LIMIT);
  else exchange.refuseWith(TOO_MANY_HEADERS, 'client', CLIENT_LIMIT);
}
