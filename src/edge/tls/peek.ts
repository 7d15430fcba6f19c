import type { Socket } from 'node:net';
import { attach, closing, guarded } from '../../lib/guarded-listeners.ts';
import type { ClientHello, HelloProblem } from './client-hello.ts';
import { HelloReader, MAX_HELLO_BYTES } from './hello-reader.ts';

export interface PeekLimits {
  readonly timeoutMs: number;
  readonly maxBytes?: number;
}

/** `timeout`: silent or slow. `closed`: the client disconnected first. */
export type PeekFailure = HelloProblem | 'too_large' | 'timeout' | 'closed';

export type PeekResult =
  | { readonly ok: true; readonly hello: ClientHello }
  | { readonly ok: false; readonly reason: PeekFailure; readonly message: string; readonly bytes: Buffer };

/**
 * Reads the ClientHello from a socket and puts its bytes back, so that a TLS server can take the socket over unchanged.
 * The deadline covers the whole message: a byte now and then does not extend it. Calls `done` once, and leaves an open
 * socket open.
 */
export function peekClientHello(socket: Socket, limits: PeekLimits, done: (result: PeekResult) => void): void {
  const reader = new HelloReader(limits.maxBytes ?? MAX_HELLO_BYTES);
  const owner = closing(socket, 'ClientHello');
  const onTimeout = guarded(owner, () => fail('timeout', 'the ClientHello did not come in time'));
  const timer = setTimeout(onTimeout, limits.timeoutMs);
  const finish = (result: PeekResult) => {
    clearTimeout(timer);
    socket.off('readable', onReadable);
    socket.off('end', onClosed);
    socket.off('close', onClosed);
    done(result);
  };
  const fail = (reason: PeekFailure, message: string) => finish({ ok: false, reason, message, bytes: reader.bytes });
  const onClosed = guarded(owner, () => fail('closed', 'the client went away before its ClientHello was whole'));
  const onReadable = guarded(owner, () => {
    for (let chunk = socket.read() as Buffer | null; chunk !== null; chunk = socket.read() as Buffer | null) {
      const reading = reader.push(chunk);
      if (reading.state === 'more') continue;
      if (reading.state === 'refused') return fail(reading.problem, reading.message);
      socket.unshift(reader.bytes);
      return finish({ ok: true, hello: reading.hello });
    }
  });
  attach(socket, 'readable', onReadable);
  attach(socket, 'end', onClosed);
  attach(socket, 'close', onClosed);
}
