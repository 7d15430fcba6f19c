import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { type ClientHttp2Stream, constants, type IncomingHttpHeaders } from 'node:http2';
import { request as requestHttps } from 'node:https';
import type { Readable, Writable } from 'node:stream';
import type { EdgeWorld } from '../../support/edge-world.ts';

export const PROTOCOLS = ['http/1.1', 'h2'] as const;
export type Protocol = (typeof PROTOCOLS)[number];

export interface Sending {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Null: the request ends with its head. */
  readonly body?: string | null;
  readonly trailers?: Readonly<Record<string, string>>;
}

/** A request in progress. */
export interface Sent {
  /** Where the body is written. */
  readonly outgoing: Writable & { destroy(): unknown };
  /** Resolves when the edge asks for the body. */
  readonly continued: Promise<unknown>;
  readonly answered: Promise<Answered>;
}

export interface Answered {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly incoming: Readable;
  trailers(): Readonly<Record<string, unknown>>;
}

export interface WholeAnswer extends Answered {
  readonly body: Buffer;
}

/** Starts a request; the caller sends its body. */
export async function begin(edge: EdgeWorld, host: string, protocol: Protocol, sending: Sending = {}): Promise<Sent> {
  return protocol === 'h2' ? beginHttp2(edge, host, sending) : beginHttp1(edge, host, sending);
}

/** A request and its complete response. */
export async function ask(
  edge: EdgeWorld,
  host: string,
  protocol: Protocol,
  sending: Sending = {},
): Promise<WholeAnswer> {
  const { body = null } = sending;
  const { outgoing, answered } = await begin(edge, host, protocol, sending);
  if (body !== null) outgoing.write(body);
  outgoing.end();
  const answer = await answered;
  return { ...answer, body: await bytesOf(answer.incoming) };
}

/** Fails when the response is truncated. */
export async function bytesOf(incoming: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

async function beginHttp1(edge: EdgeWorld, host: string, sending: Sending): Promise<Sent> {
  const { method = 'GET', path = '/', headers = {}, body = null, trailers = {} } = sending;
  const isChunked = body !== null && headers['content-length'] === undefined;
  const outgoing = requestHttps({
    agent: false,
    ...edge.tlsOptions(host),
    method,
    path,
    headers: { host, ...headers, ...(isChunked && { 'transfer-encoding': 'chunked' }) },
  } as object);
  if (Object.keys(trailers).length > 0) outgoing.addTrailers(trailers);
  const continued = once(outgoing, 'continue');
  const answered = once(outgoing, 'response').then((values) => {
    const incoming = values[0] as IncomingMessage;
    return {
      status: incoming.statusCode ?? 0,
      headers: incoming.headers,
      incoming,
      trailers: () => incoming.trailers,
    };
  });
  outgoing.on('error', () => {});
  for (const promise of [continued, answered]) promise.catch(() => {});
  outgoing.flushHeaders();
  return { outgoing, continued, answered };
}

async function beginHttp2(edge: EdgeWorld, host: string, sending: Sending): Promise<Sent> {
  const { method = 'GET', path = '/', headers = {}, body = null, trailers = {} } = sending;
  const session = await edge.http2(host);
  const outgoing: ClientHttp2Stream = session.request(
    { ':method': method, ':path': path, ':authority': host, ...headers },
    { endStream: body === null && headers['content-length'] === undefined, waitForTrailers: true },
  );
  outgoing.on('wantTrailers', () => outgoing.sendTrailers(trailers));
  outgoing.on('error', () => {});
  let seen: IncomingHttpHeaders = {};
  outgoing.on('trailers', (fields: IncomingHttpHeaders) => {
    seen = fields;
  });
  const continued = once(outgoing, 'continue');
  const answered = once(outgoing, 'response').then((values) => {
    const fields = values[0] as IncomingHttpHeaders & { ':status'?: number };
    return { status: fields[':status'] ?? 0, headers: fields, incoming: outgoing as Readable, trailers: () => seen };
  });
  for (const promise of [continued, answered]) promise.catch(() => {});
  outgoing.once('close', () => {
    if (outgoing.rstCode !== constants.NGHTTP2_NO_ERROR) outgoing.emit('aborted');
    session.close();
  });
  return { outgoing, continued, answered };
}
