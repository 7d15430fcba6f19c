import type { TLSSocket } from 'node:tls';

export interface RawAnswer {
  /** Everything received, one character per byte. */
  readonly bytes: string;
  readonly isClosed: boolean;
  /** Statuses of all heads in it. */
  readonly statuses: readonly number[];
}

/** Sends bytes and collects the response until `isEnough`, the end of the connection, or the timeout. */
export function rawExchange(
  socket: TLSSocket,
  bytes: string,
  { isEnough = () => false, timeoutMs = 3000 }: { isEnough?: (soFar: string) => boolean; timeoutMs?: number } = {},
): Promise<RawAnswer> {
  return new Promise((resolve) => {
    let received = '';
    const onData = (chunk: Buffer): void => {
      received += chunk.toString('latin1');
      if (isEnough(received)) done(false);
    };
    const onClose = (): void => done(true);
    const timer = setTimeout(() => done(false), timeoutMs);
    const done = (isClosed: boolean): void => {
      clearTimeout(timer);
      socket.off('data', onData).off('close', onClose);
      resolve({ bytes: received, isClosed, statuses: statusesIn(received) });
    };
    socket.on('data', onData).once('close', onClose);
    socket.write(bytes, 'latin1');
  });
}

export function statusesIn(bytes: string): readonly number[] {
  return [...bytes.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => Number(match[1]));
}
