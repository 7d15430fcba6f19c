import { createHash, randomBytes } from 'node:crypto';
import type { ClientHttp2Session } from 'node:http2';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type { RecordingUpstream } from './recording-upstream.ts';

/** A minimal WebSocket end (RFC 6455): unfragmented text frames up to 64 KB, and close. */
export class WebSocketEnd {
  readonly stream: Duplex;
  readonly closed: Promise<void>;
  readonly #isClient: boolean;
  #received = Buffer.alloc(0);
  readonly #waiting: ((text: string) => void)[] = [];
  readonly #messages: string[] = [];
  onMessage: ((text: string) => void) | null = null;

  constructor(stream: Duplex, isClient: boolean) {
    this.stream = stream;
    this.#isClient = isClient;
    this.closed = new Promise((resolve) => {
      stream.once('close', () => resolve());
      stream.once('end', () => {
        stream.end();
      });
    });
    stream.on('error', () => {});
    stream.on('data', (chunk: Buffer) => this.#read(chunk)).resume();
  }

  send(text: string): void {
    const body = Buffer.from(text);
    const short = body.length < 126;
    const head = Buffer.alloc(short ? 2 : 4);
    head[0] = 0x81;
    head[1] = short ? body.length : 126;
    if (!short) head.writeUInt16BE(body.length, 2);
    if (!this.#isClient) {
      this.stream.write(Buffer.concat([head, body]));
      return;
    }
    head[1] |= 0x80;
    const mask = randomBytes(4);
    this.stream.write(Buffer.concat([head, mask, body.map((byte, at) => byte ^ (mask[at % 4] as number))]));
  }

  message(): Promise<string> {
    const known = this.#messages.shift();
    return known === undefined ? new Promise((resolve) => this.#waiting.push(resolve)) : Promise.resolve(known);
  }

  /** False also when it is closed instead: waiting indefinitely would hang the test instead of failing it. */
  async echoes(text: string): Promise<boolean> {
    this.send(text);
    return (await Promise.race([this.message(), this.closed])) === `echo ${text}`;
  }

  #read(chunk: Buffer): void {
    this.#received = Buffer.concat([this.#received, chunk]);
    for (;;) {
      const bytes = this.#received;
      if (bytes.length < 2) return;
      const isMasked = ((bytes[1] as number) & 0x80) !== 0;
      let length = (bytes[1] as number) & 0x7f;
      let at = 2;
      if (length === 126) {
        if (bytes.length < 4) return;
        length = bytes.readUInt16BE(2);
        at = 4;
      }
      const maskAt = at;
      if (isMasked) at += 4;
      if (bytes.length < at + length) return;
      const mask = bytes.subarray(maskAt, maskAt + 4);
      const body = bytes.subarray(at, at + length).map((byte, i) => (isMasked ? byte ^ (mask[i % 4] as number) : byte));
      this.#received = bytes.subarray(at + length);
      this.#take(Buffer.from(body).toString());
    }
  }

  #take(text: string): void {
    if (this.onMessage !== null) this.onMessage(text);
    else {
      const waiting = this.#waiting.shift();
      if (waiting === undefined) this.#messages.push(text);
      else waiting(text);
    }
  }
}

/** Makes an upstream accept WebSockets and echo everything. Returns its ends. */
export function echoingWebSockets(upstream: RecordingUpstream): WebSocketEnd[] {
  const ends: WebSocketEnd[] = [];
  upstream.onUpgrade = (request, socket, head) => {
    const key = request.headers['sec-websocket-key'];
    if (key === undefined || Buffer.from(key, 'base64').length !== 16) {
      socket.end('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n');
      return;
    }
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${acceptOf(key)}\r\n\r\n`,
    );
    if (head.length > 0) socket.unshift(head);
    const end = new WebSocketEnd(socket, false);
    end.onMessage = (text) => end.send(`echo ${text}`);
    ends.push(end);
  };
  return ends;
}

/** Over HTTP/1.1. Rejects with the status unless it is 101. */
export async function openWebSocket(socket: TLSSocket, host: string, path = '/'): Promise<WebSocketEnd> {
  const key = randomBytes(16).toString('base64');
  socket.write(
    `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: ${key}\r\nSec-WebSocket-Version: 13\r\n\r\n`,
  );
  const head = await new Promise<string>((resolve, reject) => {
    let received = Buffer.alloc(0);
    const onData = (chunk: Buffer): void => {
      received = Buffer.concat([received, chunk]);
      const end = received.indexOf('\r\n\r\n');
      if (end === -1) return;
      socket.off('data', onData);
      socket.pause();
      if (received.length > end + 4) socket.unshift(received.subarray(end + 4));
      resolve(received.subarray(0, end).toString('latin1'));
    };
    socket.on('data', onData).once('close', () => reject(new Error('closed before an answer')));
  });
  if (!head.startsWith('HTTP/1.1 101 ')) throw new Error(head);
  if (!head.toLowerCase().includes(`sec-websocket-accept: ${acceptOf(key).toLowerCase()}`)) throw new Error(head);
  return new WebSocketEnd(socket, true);
}

/** Over HTTP/2 (RFC 8441). */
export async function openWebSocketOverHttp2(
  session: ClientHttp2Session,
  host: string,
  path = '/',
  more: Readonly<Record<string, string>> = {},
): Promise<WebSocketEnd> {
  const stream = session.request(
    {
      ':method': 'CONNECT',
      ':protocol': 'websocket',
      ':scheme': 'https',
      ':path': path,
      ':authority': host,
      'sec-websocket-version': '13',
      ...more,
    },
    { endStream: false },
  );
  stream.on('error', () => {});
  const headers = await new Promise<Readonly<Record<string, unknown>>>((resolve, reject) => {
    stream.once('response', resolve).once('close', () => reject(new Error('closed before an answer')));
  });
  if (headers[':status'] !== 200) throw new Error(`answered ${String(headers[':status'])}`);
  if (headers['sec-websocket-accept'] !== undefined) throw new Error('RFC 8441 §5.1 has no Sec-WebSocket-Accept');
  return new WebSocketEnd(stream, true);
}

export function acceptOf(key: string): string {
  return createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
}
