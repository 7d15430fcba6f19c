import type { Socket } from 'node:net';
import { attach, closing, guarded } from '../../guarded-listeners.ts';
import type { HeaderProblem, ProxiedSource } from './header-reading.ts';
import { readProxyHeader } from './proxy-header.ts';

/** `timeout`: silent or slow. `closed`: the proxy disconnected first, as some health checks do. */
export type ReceivingProblem = HeaderProblem | 'timeout' | 'closed';

export type ReceivedHeader =
  | { readonly ok: true; readonly source: ProxiedSource | null; readonly headerBytes: number }
  | { readonly ok: false; readonly problem: ReceivingProblem; readonly message: string };

/**
 * Takes the header from a socket, and leaves what follows it to be read. The deadline covers the whole header: a byte
 * now and then does not extend it. Calls `done` once, and leaves an open socket open.
 */
export function receiveHeader(socket: Socket, timeoutMs: number, done: (received: ReceivedHeader) => void): void {
  let bytes: Buffer = Buffer.alloc(0);
  const owner = closing(socket, 'PROXY header');
  const fail = (problem: ReceivingProblem, message: string) => finish({ ok: false, problem, message });
  const onTimeout = guarded(owner, () => fail('timeout', 'the PROXY header did not come in time'));
  const onClosed = guarded(owner, () => fail('closed', 'the connection ended before its PROXY header'));
  const onReadable = guarded(owner, () => {
    for (let chunk = socket.read() as Buffer | null; chunk !== null; chunk = socket.read() as Buffer | null) {
      // Short: anything beyond 536 bytes has been decided.
      bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk]);
      const reading = readProxyHeader(bytes);
      if (reading.state === 'more') continue;
      if (reading.state === 'refused') return fail(reading.problem, reading.message);
      if (bytes.length > reading.length) socket.unshift(bytes.subarray(reading.length));
      return finish({ ok: true, source: reading.source, headerBytes: reading.length });
    }
  });
  const timer = setTimeout(onTimeout, timeoutMs);
  const finish = (received: ReceivedHeader) => {
    clearTimeout(timer);
    socket.off('readable', onReadable);
    socket.off('end', onClosed);
    socket.off('close', onClosed);
    done(received);
  };
  attach(socket, 'readable', onReadable);
  attach(socket, 'end', onClosed);
  attach(socket, 'close', onClosed);
}
