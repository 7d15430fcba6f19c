import { ApiError, asApiError } from './api-error.ts';
import { forgetSession, sessionToken } from './session-token.ts';

const TOKEN_HEADER = 'postern-console-token';

export interface RequestOptions {
  readonly body?: unknown;
  /** ETag of the version that the change is based on. */
  readonly ifMatch?: string | null;
  readonly abort?: AbortSignal;
}

export interface Answer<Body> {
  readonly data: Body;
  readonly etag: string | null;
  /** Postern-Warning and Postern-Problem: the write succeeded, and something needs attention. */
  readonly warnings: readonly string[];
  /** Of all results of a list; null: it does not say. */
  readonly count: number | null;
}

/** One call of the API with the session: the cookie and the token are both needed. */
export async function request<Body>(
  method: string,
  path: string,
  { body, ifMatch, abort }: RequestOptions = {},
): Promise<Answer<Body>> {
  const response = await send(method, path, {
    headers: {
      ...sessionHeaders(),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(ifMatch !== undefined && ifMatch !== null && { 'if-match': ifMatch }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(abort !== undefined && { signal: abort }),
  });
  if (!response.ok) throw await refusalOf(response);
  const text = await response.text();
  return {
    data: (text === '' ? null : JSON.parse(text)) as Body,
    etag: response.headers.get('etag'),
    count: countOf(response),
    warnings: ['postern-problem', 'postern-warning'].flatMap((name) => response.headers.get(name) ?? []),
  };
}

function countOf({ headers }: Response): number | null {
  const count = headers.get('postern-count');
  return count === null ? null : Number(count);
}

export async function get<Body>(path: string, abort?: AbortSignal): Promise<Body> {
  return (await request<Body>('GET', path, { abort })).data;
}

export async function send(method: string, path: string, init: RequestInit): Promise<Response> {
  try {
    const response = await fetch(path, {
      ...init,
      ...{ method, credentials: 'same-origin', cache: 'no-store', redirect: 'error' },
    });
    const token = new Headers(init.headers).get(TOKEN_HEADER);
    if (response.status === 401 && token !== null) forgetSession(token);
    return response;
  } catch (error) {
    if (init.signal?.aborted === true) throw error;
    throw asApiError(error);
  }
}

export function sessionHeaders(): Record<string, string> {
  const token = sessionToken();
  return { 'service-version': '2', ...(token !== null && { [TOKEN_HEADER]: token }) };
}

export async function refusalOf(response: Response): Promise<ApiError> {
  const body = (await response.json().catch(() => null)) as Record<string, unknown> | null;
  return new ApiError(
    response.status,
    typeof body?.['error_code'] === 'string' ? body['error_code'] : `HTTP_${response.status}`,
    typeof body?.['msg'] === 'string' ? body['msg'] : `The server answered ${response.status}.`,
    (body?.['details'] ?? {}) as Record<string, string>,
  );
}
