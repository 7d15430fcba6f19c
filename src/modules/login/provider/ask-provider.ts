import { FetchProblem } from '../../../lib/http/fetch-problem.ts';
import type { GuardedFetch, GuardedFetchInit } from '../../../lib/http/guarded-fetch.ts';
import { isJsonObject, type JsonObject } from '../../../lib/json.ts';
import { parseExactJson } from '../../../lib/text/exact-json.ts';
import { LoginProblem, unansweredProblem } from './login-problem.ts';

/** Calls one of the provider's endpoints; any status but 200 is a problem. */
export async function askProvider(fetch: GuardedFetch, url: string, init?: GuardedFetchInit): Promise<Response> {
  const response = await fetch(url, init).catch((error: unknown) => {
    throw error instanceof FetchProblem ? unansweredProblem(error) : error;
  });
  if (response.status !== 200) throw statusProblem(url, response.status);
  return response;
}

export async function askForJson(fetch: GuardedFetch, url: string): Promise<JsonObject> {
  const response = await askProvider(fetch, url, { headers: { accept: 'application/json' } });
  return jsonOf(response, url);
}

export async function jsonOf(response: Response, url: string): Promise<JsonObject> {
  const body: unknown = await response
    .text()
    .then(parseExactJson)
    .catch(() => null);
  if (!isJsonObject(body)) {
    throw new LoginProblem('provider', 'malformed_answer', `${url} returned a body that is not a JSON object`);
  }
  return body;
}

/** RFC 6585 §4, RFC 9110 §15.6: it says nothing about the request, only that it cannot be answered now. */
export function isBusyStatus(status: number): boolean {
  return status === 429 || status >= 500;
}

export function statusProblem(endpoint: string, status: number): LoginProblem {
  if (isBusyStatus(status)) {
    return new LoginProblem('unreachable', 'unexpected_status', `${endpoint} returned status ${status}`);
  }
  return status >= 300 && status < 400
    ? new LoginProblem('provider', 'redirected', `${endpoint} returned a redirect (${status}), which is not followed`)
    : new LoginProblem('provider', 'unexpected_status', `${endpoint} returned status ${status}`);
}
