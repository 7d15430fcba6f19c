import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcp, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Cleanup } from '../../support/cleanup.ts';

export interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly rawHeaders: readonly string[];
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
  readonly rawTrailers: readonly string[];
}

export interface RecordingUpstream {
  readonly name: string;
  readonly address: string;
  /** Complete requests. */
  readonly seen: SeenRequest[];
  /** Everything received on any connection, one character per byte. */
  bytes: string;
  readonly sockets: Set<Socket>;
  /** Replaces the default response, which names the upstream and repeats the request. */
  answer: ((request: IncomingMessage, response: ServerResponse) => void) | null;
  onUpgrade: ((request: IncomingMessage, socket: Duplex, head: Buffer) => void) | null;
  /** Clears what it has recorded. */
  forget(): void;
}

/** A real HTTP/1.1 server that records the raw bytes and the parsed requests. */
export async function recordingUpstream(test: Cleanup, name = 'upstream'): Promise<RecordingUpstream> {
  const http = createServer({ maxHeaderSize: 262_144 });
  http.maxHeadersCount = 0;
  const sockets = new Set<Socket>();
  const upstream: RecordingUpstream = {
    name,
    address: '',
    seen: [],
    bytes: '',
    sockets,
    answer: null,
    onUpgrade: null,
    forget: () => {
      upstream.seen.length = 0;
      upstream.bytes = '';
    },
  };
  http.on('request', (request, response) => {
    response.on('error', () => {});
    if (upstream.answer === null) void answerByDefault(upstream, request, response);
    else upstream.answer(request, response);
  });
  http.on('upgrade', (request, socket: Duplex, head: Buffer) => {
    socket.on('error', () => {});
    upstream.seen.push(seenOf(request, ''));
    if (upstream.onUpgrade === null) socket.end('HTTP/1.1 400 Bad Request\r\n\r\n');
    else upstream.onUpgrade(request, socket, head);
  });
  const tcp = createTcp((socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket)).on('error', () => {});
    http.emit('connection', socket);
    // After the server took it over: otherwise its parser would bypass this listener.
    socket.on('data', (chunk: Buffer) => {
      if (upstream.bytes.length < 1_000_000) upstream.bytes += chunk.toString('latin1');
    });
  });
  await once(tcp.listen(0, '127.0.0.1'), 'listening');
  test.after(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => tcp.close(resolve));
  });
  return Object.assign(upstream, { address: `127.0.0.1:${(tcp.address() as AddressInfo).port}` });
}

async function answerByDefault(
  upstream: RecordingUpstream,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  let body = '';
  request.setEncoding('latin1');
  try {
    for await (const text of request) body += text as string;
  } catch {
    return;
  }
  const seen = seenOf(request, body);
  upstream.seen.push(seen);
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ name: upstream.name, ...seen }));
}

export function seenOf(request: IncomingMessage, body: string): SeenRequest {
  const { method = '', url = '', rawHeaders, headers, rawTrailers } = request;
  return { method, url, rawHeaders, headers, body, rawTrailers };
}

/** An address without a listener. */
export async function deadAddress(): Promise<string> {
  const server = createTcp();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `127.0.0.1:${port}`;
}
