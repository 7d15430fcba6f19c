import { combinedValue, type HeaderList } from '../../lib/http/header-list.ts';
import { decodeBody } from './decode-body.ts';
import type { KeptBody } from './kept-body.ts';
import type { KeptExchange } from './kept-exchange.ts';
import { replayProblem } from './replay-request.ts';
import { shownHeaders } from './sensitive-headers.ts';

/** Limit for a decoded body: a larger one is for a program, not for a page. */
const MAX_DECODED_BYTES = 1_048_576;

export interface ExchangeSummary {
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
