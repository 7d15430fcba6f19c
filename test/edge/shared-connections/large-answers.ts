import { once } from 'node:events';
import { createServer } from 'node:http';
import {
  createServer as createHttp2,
  createSecureServer,
  type Http2Server,
  type ServerHttp2Stream,
  type Settings,
} from 'node:http2';
import type { AddressInfo, Server, Socket } from 'node:net';
import type { Cleanup } from '../../support/cleanup.ts';

/** Sizes of the values of an answer's fields, in bytes. */
export interface AnswerSpec {
  readonly head?: readonly number[];
  readonly hints?: readonly number[];
  /** How often the hints are sent. */
  readonly hintCount?: number;
  readonly trailers?: readonly number[];
  /** The body is shorter than its announced length, which HTTP/2 forbids. */
  readonly isShort?: boolean;
  /** The same, longer. */
  readonly isLong?: boolean;
}

export interface Service {
  readonly port: number;
  /** Connections so far. */
  connections: number;
  /** Requests for `/slow` that wait. */
  readonly slow: number;
  /** Answers them with 200. */
  release(): void;
}

type Fields = readonly (readonly [name: string, value: string])[];

export function pathOf(spec: AnswerSpec): string {
  return `/answer?${encodeURIComponent(JSON.stringify(spec))}`;
}

function specOf(path: string): AnswerSpec {
  return JSON.parse(decodeURIComponent(path.slice(path.indexOf('?') + 1)) || '{}') as AnswerSpec;
}

/** Not shortened by Huffman coding. */
function fieldsOf(sizes: readonly number[]): Fields {
  return sizes.map((bytes, at) => [`x-${at}`, '~'.repeat(bytes)]);
}

/** Answers in HTTP/1.1 with fields of any size. */
export async function http1Service(test: Cleanup): Promise<Service> {
  const waiting: (() => void)[] = [];
  const server = createServer({ maxHeaderSize: 1_048_576 });
  server.maxHeadersCount = 0;
  server.on('request', (request, response) => {
    response.on('error', () => {});
    request.resume();
    if (request.url === '/slow') {
      waiting.push(() => response.end('slow'));
      return;
    }
    const { head = [], hints, hintCount = 1, trailers } = specOf(request.url ?? '');
    const socket = request.socket;
    const lines = (list: Fields): string => list.map(([name, value]) => `${name}: ${value}\r\n`).join('');
    if (hints !== undefined)
      for (let at = 0; at < hintCount; at += 1)
        socket.write(`HTTP/1.1 103 Early Hints\r\n${lines(fieldsOf(hints))}\r\n`);
    socket.write(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n${lines(fieldsOf(head))}\r\n4\r\nbody\r\n0\r\n`);
    socket.end(`${lines(fieldsOf(trailers ?? []))}\r\n`);
  });
  return served(test, server, waiting);
}

/** The same in HTTP/2. */
export function http2Service(
  test: Cleanup,
  tls: { readonly certificatePem: string; readonly keyPem: string } | null,
  settings: Settings = {},
): Promise<Service> {
  const waiting: (() => void)[] = [];
  // The declared types have the limits for clients only.
  const options = { maxSendHeaderBlockLength: 1_048_576, maxHeaderListPairs: 2_000, settings };
  const server: Http2Server =
    tls === null
      ? createHttp2(options)
      : (createSecureServer({ ...options, cert: tls.certificatePem, key: tls.keyPem }) as unknown as Http2Server);
  server.on('sessionError', () => {});
  server.on('stream', (stream: ServerHttp2Stream, headers) => {
    stream.on('error', () => {});
    const path = String(headers[':path']);
    if (path === '/slow') {
      waiting.push(() => {
        if (stream.destroyed) return;
        stream.respond({ ':status': 200 });
        stream.end('slow');
      });
      return;
    }
    const { head = [], hints, hintCount = 1, trailers, isShort = false, isLong = false } = specOf(path);
    if (isShort || isLong) {
      stream.respond({ ':status': 200, 'content-length': '5' });
      stream.end(isShort ? 'abc' : 'longer');
      return;
    }
    if (hints !== undefined)
      for (let at = 0; at < hintCount; at += 1)
        stream.additionalHeaders({ ':status': 103, ...Object.fromEntries(fieldsOf(hints)) });
    stream.respond({ ':status': 200, ...Object.fromEntries(fieldsOf(head)) }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers(Object.fromEntries(fieldsOf(trailers ?? []))));
    stream.end('body');
  });
  return served(test, server, waiting);
}

async function served(test: Cleanup, server: Server, waiting: (() => void)[]): Promise<Service> {
  const sockets = new Set<Socket>();
  const service = {
    port: 0,
    connections: 0,
    get slow(): number {
      return waiting.length;
    },
    release: (): void => {
      for (const answer of waiting.splice(0)) answer();
    },
  };
  server.on('connection', (socket: Socket) => {
    service.connections += 1;
    sockets.add(socket);
    socket.on('error', () => {}).once('close', () => sockets.delete(socket));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  service.port = (server.address() as AddressInfo).port;
  test.after(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return service;
}
