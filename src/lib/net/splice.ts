import { constants } from 'node:http2';
import type { Duplex } from 'node:stream';
import { type ListenerOwner, listen, listenOnce } from '../guarded-listeners.ts';
import { hasStreamEnd } from '../http2/stream-end.ts';
import { breakOff, isHttp2Stream } from './break-off.ts';
import { bufferPassed } from './passing-buffers.ts';

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
