import {
  type BrotliDecompress,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
  type Gunzip,
  type Inflate,
  type InflateRaw,
  type ZstdDecompress,
} from 'node:zlib';
import { attach, guarded, type ListenerOwner, listen, listenOnce } from '../../../kit/guarded-listeners.ts';
import { combinedValue, type HeaderList } from '../../../kit/http/header-values.ts';
import type { KeptBody, KeptExchange } from './exchange-store.ts';
import { replayProblem } from './replays.ts';
import { shownHeaders } from './sensitive-headers.ts';

/** Limit for a decoded body: a larger one is for a program, not for a page. */
const MAX_DECODED_BYTES = 1_048_576;

interface ExchangeSummary {
  readonly id: string;
  readonly tunnel_name: string;
  readonly method: string;
  readonly path: string;
  readonly host: string;
  readonly is_websocket: boolean;
  /** Null until there is a response. */
  readonly status: number | null;
  readonly started_at: string;
  readonly first_byte_ms: number | null;
  /** Null while the request is in progress. */
  readonly duration_ms: number | null;
  readonly request_bytes: number;
  readonly response_bytes: number;
  readonly problem: string | null;
  readonly replay_of: string | null;
}

export function summaryOf(exchange: KeptExchange): ExchangeSummary {
  const { request, requestBody, responseBody } = exchange;
  return {
    id: exchange.id,
    tunnel_name: request.tunnel.name,
    method: exchange.method,
    path: request.target,
    host: request.authority,
    is_websocket: exchange.isWebSocket,
    status: exchange.status,
    started_at: new Date(exchange.startedAtMs).toISOString(),
    first_byte_ms: rounded(exchange.firstByteMs),
    duration_ms: rounded(exchange.durationMs),
    request_bytes: requestBody.totalBytes,
    response_bytes: responseBody.totalBytes,
    problem: exchange.problem,
    replay_of: exchange.replayOf,
  };
}

export async function detailOf(exchange: KeptExchange, isUnmasked: boolean): Promise<object> {
  const { request, requestBody, responseHeaders, responseBody } = exchange;
  return {
    ...summaryOf(exchange),
    not_replayable: replayProblem(exchange),
    request: {
      headers: shownHeaders(request.headers, isUnmasked),
      body: await bodyOf(requestBody, request.headers),
    },
    response:
      exchange.status === null
        ? null
        : {
            headers: shownHeaders(responseHeaders, isUnmasked),
            body: await bodyOf(responseBody, responseHeaders),
          },
  };
}

async function bodyOf(body: KeptBody, headers: HeaderList): Promise<object> {
  const { bytes, totalBytes, isTruncated } = body;
  const decoded = await decodeBody(bytes, combinedValue(headers, 'content-encoding') ?? '', MAX_DECODED_BYTES);
  return {
    total_bytes: totalBytes,
    kept_bytes: bytes.length,
    is_truncated: isTruncated,
    content_type: combinedValue(headers, 'content-type') ?? '',
    content_encoding: decoded.encoding,
    is_decoded: decoded.isDecoded,
    problem: decoded.problem,
    base64: decoded.bytes.toString('base64'),
  };
}

function rounded(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms * 10) / 10;
}

type Decoder = BrotliDecompress | Gunzip | Inflate | InflateRaw | ZstdDecompress;

const DECODERS: Readonly<Record<string, (bytes: Buffer) => Decoder>> = {
  gzip: () => createGunzip(),
  'x-gzip': () => createGunzip(),
  br: () => createBrotliDecompress(),
  zstd: () => createZstdDecompress(),
  // Many senders omit the zlib wrapper that RFC 9110 §8.4.1.2 requires. The first byte tells the two forms apart.
  deflate: (bytes) => (((bytes[0] ?? 0) & 0x0f) === 8 ? createInflate() : createInflateRaw()),
};
const MAX_CODINGS = 3;

interface DecodedBody {
  readonly bytes: Buffer;
  /** Null when the body was not encoded. */
  readonly encoding: string | null;
  /** Whether `bytes` are the decoded body, and not the body as received. */
  readonly isDecoded: boolean;
  /** Why `bytes` are incomplete or not decoded. */
  readonly problem: string | null;
}

/**
 * Decodes as much of a body as possible, at most `maxBytes`: the body may be truncated, corrupt, or a decompression
 * bomb.
 */
async function decodeBody(bytes: Buffer, contentEncoding: string, maxBytes: number): Promise<DecodedBody> {
  const codings = contentEncoding
    .toLowerCase()
    .split(',')
    .map((coding) => coding.trim())
    .filter((coding) => coding !== '' && coding !== 'identity');
  if (codings.length === 0 || bytes.length === 0) return { bytes, encoding: null, isDecoded: false, problem: null };
  const encoding = codings.join(', ');
  const unknown = codings.find((coding) => !Object.hasOwn(DECODERS, coding));
  if (unknown !== undefined || codings.length > MAX_CODINGS) {
    return { bytes, encoding, isDecoded: false, problem: `the encoding ${encoding} is not supported` };
  }
  let decoded = bytes;
  let problem: string | null = null;
  for (const coding of codings.reverse()) {
    const step = await decodeOnce(decoded, coding, maxBytes);
    problem ??= step.problem;
    decoded = step.bytes;
  }
  if (decoded.length === 0 && problem !== null) return { bytes, encoding, isDecoded: false, problem };
  return { bytes: decoded, encoding, isDecoded: true, problem };
}

function decodeOnce(
  bytes: Buffer,
  coding: string,
  maxBytes: number,
): Promise<{ readonly bytes: Buffer; readonly problem: string | null }> {
  const decoder = (DECODERS[coding] as (bytes: Buffer) => Decoder)(bytes);
  const chunks: Buffer[] = [];
  let length = 0;
  return new Promise((resolve) => {
    const finish = (problem: string | null): void => {
      decoder.off('data', onData);
      decoder.destroy();
      resolve({ bytes: Buffer.concat(chunks).subarray(0, maxBytes), problem });
    };
    const owner: ListenerOwner = { contain: (error) => finish(`${coding}: ${String(error)}`) };
    const onData = guarded(owner, (chunk: Buffer): void => {
      chunks.push(chunk);
      length += chunk.length;
      if (length > maxBytes) finish(`only the first ${maxBytes} bytes after decoding`);
    });
    attach(decoder, 'data', onData);
    listenOnce(decoder, 'end', owner, () => finish(null));
    listen(decoder, 'error', owner, (error: Error) => finish(`${coding}: ${error.message}`));
    // Flushed, so that a truncated body yields what it can before its missing end is noticed.
    decoder.write(bytes);
    decoder.flush(() => decoder.end());
  });
}
