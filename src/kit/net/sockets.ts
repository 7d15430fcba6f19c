import { constants, type Http2Stream } from 'node:http2';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { type ListenerOwner, listen, listenOnce } from '../guarded-listeners.ts';
import { cancelStream, hasStreamEnd } from '../http2/stream-end.ts';
import { bufferPassed } from './waiting-bytes.ts';

/**
 * Copies bytes both ways between two connections or streams until both have closed. The end of one direction is
 * forwarded while the other continues; a reset is forwarded as a reset (RFC 9113 §8.5). HTTP/2 streams must be watched
 * (`watchStreamEnd`).
 */
export function splice(
  one: Duplex,
  other: Duplex,
  owner: ListenerOwner,
  onOver: (problem: string | null) => void,
): void {
  let problem: string | null = null;
  let open = 2;
  for (const side of [one, other]) {
    listen(side, 'error', owner, (error: Error) => {
      problem ??= error.message;
    });
    listenOnce(side, 'close', owner, () => {
      open -= 1;
      if (open === 0) onOver(problem);
    });
  }
  carry(one, other, owner);
  carry(other, one, owner);
}

function carry(from: Duplex, to: Duplex, owner: ListenerOwner): void {
  if (from.closed && from.destroyed) {
    breakOff(to);
    return;
  }
  listen(from, 'data', owner, passed);
  from.pipe(to, { end: false });
  listenOnce(from, 'end', owner, () => {
    if (isWhole(from)) to.end();
  });
  listenOnce(from, 'close', owner, () => {
    if (isWhole(from)) closeAfterLastBytes(to);
    else breakOff(to);
  });
}

function isWhole(side: Duplex): boolean {
  if (!side.readableEnded || side.errored !== null) return false;
  return !isHttp2Stream(side) || (hasStreamEnd(side) && side.rstCode === constants.NGHTTP2_NO_ERROR);
}

/** Nobody reads what it still sends. */
function closeAfterLastBytes(side: Duplex): void {
  if (isHttp2Stream(side)) {
    if (!side.closed) side.close(constants.NGHTTP2_NO_ERROR);
    side.resume();
  } else if (side.writableFinished) side.destroy();
  else side.end(() => side.destroy());
}

function passed({ length }: Buffer): void {
  bufferPassed(length);
}

function isHttp2Stream(side: Duplex): side is Http2Stream {
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

const SILENT_FOR_MS = 60_000;
const PROBE_EVERY_MS = 15_000;
const PROBES = 4;

/**
 * Lets TCP ask whether the peer is still there. Linux asks after two hours by default, and until then an idle
 * WebSocket, event stream or TCP connection holds its place. A telephone in a tunnel has a minute to come back.
 */
export function noticeVanished(socket: Socket): void {
  // The types lack the last two. Without them the runtime would give up after ten seconds.
  (socket.setKeepAlive as (enable: boolean, ...probing: readonly number[]) => unknown).call(
    socket,
    true,
    SILENT_FOR_MS,
    PROBE_EVERY_MS,
    PROBES,
  );
}
