import type { Http2Stream } from 'node:http2';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { cancelStream } from '../http2/reset.ts';

export function isHttp2Stream(side: Duplex): side is Http2Stream {
  return 'rstCode' in side;
}

/**
 * Ends a connection or stream so that its peer cannot mistake the received part for the whole: a TCP RST, an RST_STREAM
 * with an error, or a TLS connection without close_notify (RFC 8446 §6.1).
 */
export function breakOff(side: Duplex): void {
  if (isHttp2Stream(side)) {
    cancelStream(side);
  } else if (side instanceof Socket && !(side instanceof TLSSocket) && !side.destroyed && !side.writableEnded) {
    side.resetAndDestroy();
  } else {
    // While its last bytes are in flight the system refuses a reset, and the runtime then closes nothing at all.
    side.destroy();
  }
}
