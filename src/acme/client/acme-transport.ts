import { FetchProblem } from '../../lib/http/fetch-problem.ts';
import type { GuardedFetch } from '../../lib/http/guarded-fetch.ts';
import type { JsonValue } from '../../lib/json.ts';
import { AcmeFailure } from './acme-failure.ts';

export interface AcmeRequest {
  readonly method: 'GET' | 'HEAD' | 'POST';
  readonly body?: string;
  readonly accept?: string;
  readonly signal: AbortSignal;
}

export interface AcmeResponse {
  readonly status: number;
  readonly headers: Headers;
  /** Without parameters, lower case. */
  readonly contentType: string;
  readonly text: string;
}

const USER_AGENT = 'postern (ACME client; RFC 8555)';
const MAX_URL = 2048;

/** One request. Bodies and times are bounded by the fetch. */
export async function acmeRequest(fetch: GuardedFetch, url: string, request: AcmeRequest): Promise<AcmeResponse> {
  const { method, body, accept, signal } = request;
  try {
    const response = await fetch(url, {
      method,
      headers: {
        'user-agent': USER_AGENT,
        ...(accept !== undefined && { accept }),
        // Servers may reject any other type (RFC 8555 §6.2).
        ...(body !== undefined && { 'content-type': 'application/jose+json' }),
      },
      ...(body !== undefined && { body }),
      signal,
    });
    const contentType = (response.headers.get('content-type') ?? '').split(';')[0] ?? '';
    return {
      status: response.status,
      headers: response.headers,
      contentType: contentType.trim().toLowerCase(),
      text: await response.text(),
    };
  } catch (error) {
    if (!(error instanceof FetchProblem)) throw error;
    throw unreachable(error);
  }
}

function unreachable(problem: FetchProblem): AcmeFailure {
  const advice: Partial<Record<FetchProblem['reason'], string>> = {
    tls: '; if it is a private ACME server, set acme_ca_file to its CA certificate',
    plain_http: '; ACME servers are used over https only',
  };
  const message = `${problem.message}${advice[problem.reason] ?? ''}`;
  return new AcmeFailure('ERR_POSTERN_ACME_UNREACHABLE', message, { isOrderAlive: true });
}

export function parsedJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

/** URLs from the server's answers. */
export function isUsableUrl(value: unknown): value is string {
  if (typeof value !== 'string' || value.length > MAX_URL || !URL.canParse(value)) return false;
  const { protocol, username, password } = new URL(value);
  return protocol === 'https:' && username === '' && password === '';
}

/** `url` is usable, and of an origin that neither the directory nor the settings have. */
export function foreignOrigin(host: string, url: string): AcmeFailure {
  const { origin } = new URL(url);
  const message = `${host} names a URL at ${origin}, which is not the origin of its directory: if this server really uses it, add ${origin} to acme_origins`;
  return new AcmeFailure('ERR_POSTERN_ACME_RESPONSE', message, { isOrderAlive: true });
}
