import { constants, type Http2Stream } from 'node:http2';

/** The event with trailers follows the end of data, in the next tick. */
export function endStream(stream: Http2Stream, awaitsTrailers: boolean): void {
  if (!stream.writable) return;
  if (awaitsTrailers) process.nextTick(endNow, stream);
  else stream.end();
}

/** Asks the other node to stop sending the request. */
export function closeComplete(stream: Http2Stream): void {
  if (!stream.closed) stream.close(constants.NGHTTP2_NO_ERROR);
}

function endNow(stream: Http2Stream): void {
  if (stream.writable) stream.end();
}
