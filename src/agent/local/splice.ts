import { constants, type ServerHttp2Stream } from 'node:http2';
import type { Duplex } from 'node:stream';
import { bufferPassed } from '../../lib/passing-buffers.ts';

/**
 * Bytes both ways between a stream of the gateway and a local socket, until both directions have ended. An end of one direction is
 * passed on as such; a reset is passed on as a reset (RFC 9113 §8.5).
 */
export function splice(stream: ServerHttp2Stream, socket: Duplex, onOver: (problem: string | null) => void): void {
  let problem: string | null = null;
  let isOver = false;
  const over = (): void => {
    if (isOver) return;
    isOver = true;
    onOver(problem);
  };
  stream.on('error', () => {});
  socket.on('error', (error) => {
    problem ??= error.message;
  });
  stream.on('data', passed).pipe(socket);
  socket.on('data', passed).pipe(stream);
  stream.once('close', () => {
    if (stream.rstCode !== constants.NGHTTP2_NO_ERROR) socket.destroy();
    // What the gateway sent before its end is still to be written.
    else if (socket.writableFinished) socket.destroy();
    else socket.end(() => socket.destroy());
    if (socket.closed) over();
  });
  socket.once('close', () => {
    if (problem !== null || !socket.readableEnded) stream.close(constants.NGHTTP2_CONNECT_ERROR);
    // Nobody is there any more for what the gateway still sends; what it has to get goes out first.
    else if (!stream.readableEnded) stream.close(constants.NGHTTP2_NO_ERROR);
    over();
  });
}

function passed({ length }: Buffer): void {
  bufferPassed(length);
}
