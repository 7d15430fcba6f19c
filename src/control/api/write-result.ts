import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { pipeline, Readable } from 'node:stream';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { accepts } from '../../kit/http/header-values.ts';
import type { Operation, OperationRequest, OperationResult } from '../resources/operation.ts';
import { parseIfNoneMatch } from './request-parts.ts';

interface AnsweredOperation {
  readonly operation: Operation;
  readonly status: number;
  readonly operationId: string;
  readonly result: OperationResult;
}

/**
 * Writes directly to the socket: Fastify's own path serializes, runs hooks and looks up more than is needed. Returns a
 * promise if the body is compressed first.
 */
export function writeResult(
  request: IncomingMessage,
  response: ServerResponse,
  { operation, status, operationId, result }: AnsweredOperation,
  gzip: GzipResponses,
): Promise<void> | undefined {
  const headers = ['postern-operation-id', operationId, 'cache-control', 'no-store'];
  if (result.etag !== undefined) headers.push('etag', `"${result.etag}"`);
  if (result.revision !== undefined) headers.push('postern-revision', String(result.revision));
  if (status === 201 && typeof result.body?.['uri'] === 'string') headers.push('location', result.body['uri']);
  if (result.headers !== undefined)
    for (const [name, value] of Object.entries(result.headers)) headers.push(name, value);
  if (result.body === null || status === 304) {
    response.writeHead(status, headers).end();
    return undefined;
  }
  headers.push('content-type', 'application/json; charset=utf-8');
  if (result.parts !== undefined) {
    response.writeHead(status, headers);
    // A client that has gone needs no response, and a bug in the parts must not look like a complete one.
    pipeline(Readable.from(result.parts), response, () => {});
    return undefined;
  }
  const text = result.text ?? JSON.stringify(result.body);
  if (isList(operation)) headers.push('vary', varyOn(response, 'accept-encoding'));
  const send = (bytes: Buffer | null): void => {
    if (bytes !== null) headers.push('content-encoding', 'gzip');
    headers.push('content-length', String(bytes?.length ?? Buffer.byteLength(text)));
    response.writeHead(status, headers).end(bytes ?? text);
  };
  if (isList(operation) && mayCompress(request)) return gzip.compress(text, request.headers).then(send);
  send(null);
  return undefined;
}

/** RFC 9110 §13.1.2. Fields that the ETag does not cover may have changed: such a resource is sent again. */
export function statusOf({ headers }: IncomingMessage, operation: Operation, result: OperationResult): number {
  if (operation.method === 'GET' && result.etag !== undefined && result.hasLiveFields !== true) {
    const known = parseIfNoneMatch(headers['if-none-match']);
    if (isListed(known, result.etag)) return 304;
  }
  return result.status ?? operation.success.status;
}

function isListed(known: OperationRequest['ifNoneMatch'], etag: number): boolean {
  return known === 'any' || (known?.includes(etag) ?? false);
}

/** Lists show no secrets: only the response to a create does. */
function isList({ method, verb }: Operation): boolean {
  return method === 'GET' && verb === 'list';
}

/**
 * A browser sends a cookie by itself, and the size of a compressed response then tells a foreign page about its content
 * (BREACH, CVE-2013-3587). A key in a header is only sent by who has it.
 */
function mayCompress({ headers }: IncomingMessage): boolean {
  return headers.authorization !== undefined;
}

/** The value of Vary with these headers, and those on which the response varies already. */
export function varyOn(response: ServerResponse, headers: string): string {
  const before = response.getHeader('vary');
  if (before === undefined) return headers;
  return [...new Set([...namesIn(String(before)), ...namesIn(headers)])].join(', ');
}

function namesIn(list: string): readonly string[] {
  return list.split(',').map((name) => name.trim());
}

const compressed = promisify(gzip);

/** Shorter texts gain nothing. */
const MIN_CHARACTERS = 1024;
/** Longer ones would hold a thread for too long. */
const MAX_CHARACTERS = 8_388_608;
/** Files and DNS use the same four threads. */
const MAX_AT_A_TIME = 2;
/** 6 takes twice as long for a tenth less. */
const LEVEL = 4;

/** Compresses texts off the event loop. While enough others are being compressed, a response is sent as it is. */
export class GzipResponses {
  #running = 0;

  /** Null: the text is sent as it is. Never rejects. */
  async compress(text: string, headers: IncomingHttpHeaders): Promise<Buffer | null> {
    if (text.length < MIN_CHARACTERS || text.length > MAX_CHARACTERS || this.#running >= MAX_AT_A_TIME) return null;
    if (!accepts(headers['accept-encoding'] as string | undefined, 'gzip')) return null;
    this.#running += 1;
    try {
      return await compressed(text, { level: LEVEL });
    } catch {
      return null;
    } finally {
      this.#running -= 1;
    }
  }
}
