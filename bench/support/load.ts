import { connect, type Socket } from 'node:net';
import { type ConnectionOptions, connect as tlsConnect } from 'node:tls';

/**
 * A lean HTTP/1.1 load generator: keep-alive connections, one request at a time each, minimal work per response, so
 * that the server under test and not the generator is measured. Loopback only, bounded by time or count.
 */
export interface LoadOptions {
  readonly port: number;
  readonly connections: number;
  /** Absent: plain. */
  readonly tls?: ConnectionOptions;
  /** The whole request as bytes; called once per request. */
  request(index: number): Buffer;
  readonly until: { readonly ms: number } | { readonly count: number };
  /** The success status; any other stops the run. */
  readonly status: number;
}

export interface LoadResult {
  readonly requests: number;
  readonly seconds: number;
  /** Milliseconds, sorted. */
  readonly latencies: readonly number[];
}

export async function load(options: LoadOptions): Promise<LoadResult> {
  const started = performance.now();
  const latencies: number[] = [];
  let sent = 0;
  const mayGoOn = (): boolean =>
    'ms' in options.until ? performance.now() - started < options.until.ms : sent < options.until.count;
  const next = (): Buffer | null => {
    if (!mayGoOn()) return null;
    sent += 1;
    return options.request(sent - 1);
  };
  await Promise.all(Array.from({ length: options.connections }, () => drive(options, next, latencies)));
  const seconds = (performance.now() - started) / 1000;
  latencies.sort((a, b) => a - b);
  return { requests: latencies.length, seconds, latencies };
}

export function percentile(sorted: readonly number[], fraction: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * fraction))] ?? Number.NaN;
}

export function httpRequest(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body = '',
): Buffer {
  const lines = Object.entries({
    host: '127.0.0.1',
    ...headers,
    ...(body !== '' && { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) }),
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
}

function drive(options: LoadOptions, next: () => Buffer | null, latencies: number[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const { port, tls } = options;
    const socket: Socket =
      tls === undefined ? connect(port, '127.0.0.1') : tlsConnect({ port, host: '127.0.0.1', ...tls });
    socket.setNoDelay(true);
    let pending: Buffer = Buffer.alloc(0);
    let sentAt = 0;
    const send = (): void => {
      const request = next();
      if (request === null) {
        socket.destroy();
        resolve();
        return;
      }
      sentAt = performance.now();
      socket.write(request);
    };
    socket.once(tls === undefined ? 'connect' : 'secureConnect', send);
    socket.on('error', reject);
    socket.on('data', (chunk: Buffer) => {
      pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
      const length = answerLength(pending);
      if (length === null || pending.length < length) return;
      const status = Number(pending.toString('latin1', 9, 12));
      if (status !== options.status) {
        reject(new Error(`got ${pending.toString('latin1', 0, 600)}`));
        socket.destroy();
        return;
      }
      latencies.push(performance.now() - sentAt);
      pending = Buffer.alloc(0);
      send();
    });
  });
}

function answerLength(bytes: Buffer): number | null {
  const end = bytes.indexOf('\r\n\r\n');
  if (end === -1) return null;
  const head = bytes.toString('latin1', 0, end);
  return end + 4 + Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
}
