import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import type { Cleanup } from './cleanup.ts';
import { FRAME, frame, SETTINGS, SETTINGS_ACK } from './http2-frames.ts';

/** A response as raw bytes, so that it can be one that no HTTP library would send. */
export interface ScriptedAnswer {
  readonly informational?: { readonly status: number; readonly fields: readonly string[] };
  readonly status: number;
  readonly fields: readonly string[];
  readonly trailers?: readonly string[];
}

export interface ScriptedService {
  readonly port: number;
  answer: ScriptedAnswer;
}

export const SCRIPTED_BODY = 'body';
const PREFACE_BYTES = 24;
const END_STREAM = 1;
const END_HEADERS = 4;

/** Responds to every request with `answer`. HTTP/2 is used without negotiation unless there is a certificate. */
export async function scriptedService(
  test: Cleanup,
  protocol: 'http/1.1' | 'h2',
  tls?: { readonly certificatePem: string; readonly keyPem: string },
): Promise<ScriptedService> {
  const sockets = new Set<Socket>();
  const accept = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    if (protocol === 'h2') serveHttp2(socket, () => service.answer);
    else serveHttp1(socket, () => service.answer);
  };
  const server: Server =
    tls === undefined
      ? createServer(accept)
      : createTlsServer({ cert: tls.certificatePem, key: tls.keyPem, ALPNProtocols: [protocol] }, accept);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  test.after(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });
  const service = { port: (server.address() as AddressInfo).port, answer: { status: 200, fields: [] } };
  return service;
}

function serveHttp1(socket: Socket, answer: () => ScriptedAnswer): void {
  let received = '';
  socket.on('data', (chunk: Buffer) => {
    received += chunk.toString('latin1');
    if (!received.includes('\r\n\r\n')) return;
    received = '';
    const { informational, status, fields, trailers } = answer();
    const hints = informational === undefined ? '' : http1Head(informational.status, informational.fields);
    const head = http1Head(status, ['Transfer-Encoding', 'chunked', ...fields]);
    const size = SCRIPTED_BODY.length.toString(16);
    socket.write(`${hints}${head}${size}\r\n${SCRIPTED_BODY}\r\n0\r\n${lines(trailers ?? [])}\r\n`, 'latin1');
  });
}

function http1Head(status: number, fields: readonly string[]): string {
  return `HTTP/1.1 ${status} Scripted\r\n${lines(fields)}\r\n`;
}

function lines(fields: readonly string[]): string {
  let text = '';
  for (let at = 0; at < fields.length; at += 2) text += `${fields[at]}: ${fields[at + 1]}\r\n`;
  return text;
}

function serveHttp2(socket: Socket, answer: () => ScriptedAnswer): void {
  let received: Buffer = Buffer.alloc(0);
  let hasPreface = false;
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    if (!hasPreface) {
      if (received.length < PREFACE_BYTES) return;
      hasPreface = true;
      received = received.subarray(PREFACE_BYTES);
      socket.write(SETTINGS);
    }
    while (received.length >= 9) {
      const end = 9 + received.readUIntBE(0, 3);
      if (received.length < end) return;
      const [type, flags, stream] = [received[3] ?? 0, received[4] ?? 0, received.readUInt32BE(5)];
      received = received.subarray(end);
      if (type === FRAME.settings && flags === 0) socket.write(SETTINGS_ACK);
      const isMessage = type === FRAME.headers || type === FRAME.data;
      if (isMessage && (flags & END_STREAM) !== 0) socket.write(http2Answer(stream, answer()));
    }
  });
}

function http2Answer(stream: number, { informational, status, fields, trailers }: ScriptedAnswer): Buffer {
  const head = (headStatus: number, headFields: readonly string[]): Buffer =>
    frame(FRAME.headers, END_HEADERS, stream, literals([':status', String(headStatus), ...headFields]));
  const parts: Buffer[] = [];
  if (informational !== undefined) parts.push(head(informational.status, informational.fields));
  parts.push(head(status, fields), frame(FRAME.data, trailers === undefined ? END_STREAM : 0, stream, SCRIPTED_BODY));
  if (trailers !== undefined) parts.push(frame(FRAME.headers, END_HEADERS | END_STREAM, stream, literals(trailers)));
  return Buffer.concat(parts);
}

/** RFC 7541 §6.2.2: neither indexed nor compressed. Names and values shorter than 127 bytes. */
function literals(fields: readonly string[]): Buffer {
  return Buffer.concat(
    fields.map((text, at) => {
      const bytes = Buffer.from(at % 2 === 0 ? text.toLowerCase() : text, 'latin1');
      return Buffer.concat([Buffer.from(at % 2 === 0 ? [0, bytes.length] : [bytes.length]), bytes]);
    }),
  );
}
