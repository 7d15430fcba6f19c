import { REQUEST_BODY } from '../../upstream/upstream-failure.ts';
import type { Exchange } from '../exchange/exchange.ts';

const MESSAGE = 'The request was rejected: its body is incomplete.';

/** Ends a request whose body broke off, or does not have its announced length. Only its client can have caused that. */
export function endBrokenBody(exchange: Exchange): void {
  const { writer } = exchange.client;
  if (writer.isGone) writer.onGone();
  else if (writer.isHeadSent) exchange.cut(REQUEST_BODY);
  else exchange.refuse('ERR_POSTERN_BAD_HTTP', REQUEST_BODY, MESSAGE);
}
