import { once } from 'node:events';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { connect as connectTcp, type Socket } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { blocks } from './blocks.ts';

export type Direction = 'download' | 'upload';

export interface Place {
  readonly port: number;
  readonly host: string;
  readonly ca: readonly string[];
  /** Without verifying its certificate. */
  readonly isTrusted?: boolean;
}

/** MB/s of one HTTP/2 stream. */
export async function throughSession(
  session: ClientHttp2Session,
  direction: Direction,
  bytes: number,
): Promise<number> {
  if (direction === 'download') return rateOf(session.request({ ':path': `/${bytes}` }), bytes, true);
  const startedAt = performance.now();
  const stream = session.request({ ':method': 'POST', ':path': '/' });
  blocks(bytes).pipe(stream);
  let answer = '';
  for await (const chunk of stream) answer += String(chunk);
  if (Number(answer) !== bytes) throw new Error(`${answer} of ${bytes} bytes arrived`);
  return bytes / 1000 / (performance.now() - startedAt);
}

const HEAD_END = '\r\n\r\n';

/** MB/s of one HTTP/1.1 request on a new connection. `ca` is null: without TLS. */
export async function throughHttp1(
  { port, host, ca }: { readonly port: number; readonly host: string; readonly ca: readonly string[] | null },
  direction: Direction,
  bytes: number,
): Promise<number> {
  const socket: Socket =
    ca === null
      ? connectTcp(port, '127.0.0.1')
      : connect({ port, host: '127.0.0.1', servername: host, ca: [...ca], ALPNProtocols: ['http/1.1'] });
  await once(socket, ca === null ? 'connect' : 'secureConnect');
  const startedAt = performance.now();
  const authority = `host: ${host}:${port}\r\nconnection: close`;
  if (direction === 'download') socket.write(`GET /${bytes} HTTP/1.1\r\n${authority}${HEAD_END}`);
  else {
    socket.write(`POST / HTTP/1.1\r\n${authority}\r\ncontent-length: ${bytes}${HEAD_END}`);
    blocks(bytes).pipe(socket, { end: false });
  }
  let head = '';
  let count = 0;
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    if (direction === 'download' && head.includes(HEAD_END)) count += chunk.length;
    else {
      head += chunk.toString('latin1');
      count = head.length - head.indexOf(HEAD_END) - HEAD_END.length;
    }
  }
  const isWhole = direction === 'download' ? count === bytes : head.includes(String(bytes));
  if (!isWhole) throw new Error(`${count} of ${bytes} bytes arrived: ${head.slice(0, 300)}`);
  return bytes / 1000 / (performance.now() - startedAt);
}

/** MB/s of a plain TLS connection that was opened before the measurement. */
export async function throughTls({ port, host, ca }: Place, direction: Direction, bytes: number): Promise<number> {
  const socket = connect({ port, host: '127.0.0.1', servername: host, ca: [...ca] });
  await once(socket, 'secureConnect');
  socket.setNoDelay(true);
  if (direction === 'download') {
    socket.write(`GET ${bytes}\n`);
    return rateOf(socket, bytes, false).finally(() => socket.destroy());
  }
  const startedAt = performance.now();
  socket.write(`POST ${bytes}\n`);
  blocks(bytes).pipe(socket, { end: false });
  await once(socket, 'data');
  const rate = bytes / 1000 / (performance.now() - startedAt);
  socket.destroy();
  return rate;
}

export async function openSession({ port, host, ca, isTrusted = false }: Place): Promise<ClientHttp2Session> {
  const socket: TLSSocket = connect({
    port,
    host: '127.0.0.1',
    servername: host,
    ca: [...ca],
    ALPNProtocols: ['h2'],
    rejectUnauthorized: !isTrusted,
  });
  const session = connectHttp2(`https://${host}:${port}`, {
    createConnection: () => socket,
    settings: { initialWindowSize: 8 << 20 },
  });
  session.on('error', () => {});
  await once(session, 'remoteSettings');
  session.setLocalWindowSize(16 << 20);
  return session;
}

/**
 * From the start of the wait to the last byte, as for an upload. A plain connection has no end of its own. A stream is
 * read to its end: leaving it early would reset it, and an edge that receives a thousand resets closes the connection.
 */
async function rateOf(source: AsyncIterable<Buffer>, bytes: number, hasEnd: boolean): Promise<number> {
  const startedAt = performance.now();
  let count = 0;
  for await (const chunk of source) {
    count += chunk.length;
    if (count >= bytes && !hasEnd) break;
  }
  if (count !== bytes) throw new Error(`${count} of ${bytes} bytes arrived`);
  return bytes / 1000 / (performance.now() - startedAt);
}
