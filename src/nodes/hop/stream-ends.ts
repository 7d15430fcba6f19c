import { constants, type Http2Stream } from 'node:http2';

export function endStream(stream: Http2Stream): void {
  if (stream.writable) stream.end();
}

/** Asks the other node to stop sending. */
export function closeComplete(stream: Http2Stream): void {
  if (!stream.closed) stream.close(constants.NGHTTP2_NO_ERROR);
}
