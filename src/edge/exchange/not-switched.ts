import type { UpstreamFailure } from '../../upstream/upstream.ts';
import { failed } from '../../upstream/upstream-failure.ts';
import type { EdgeErrorCode } from '../errors.ts';
import type { Exchange } from './exchange.ts';

const CODE: EdgeErrorCode = 'ERR_POSTERN_UPSTREAM_BROKEN';
const MESSAGE = 'This address does not serve WebSockets.';

/**
 * A complete response of the edge to a WebSocket handshake over HTTP/2, where every 2xx would open the WebSocket (RFC 8441
 * §5). Returns whether it was refused instead.
 */
export function refusedAsOpen(exchange: Exchange, status: number): boolean {
  if (!exchange.client.writer.wouldOpen(status)) return false;
  exchange.refuse(CODE, 'not_switched', MESSAGE);
  return true;
}

/** The same for the response of an upstream. */
export function notSwitched(status: number): UpstreamFailure {
  return failed('head', 'malformed', `${status} in response to a WebSocket handshake`, true);
}
