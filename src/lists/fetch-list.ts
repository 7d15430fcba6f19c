import { FetchProblem } from '../lib/http/fetch-problem.ts';
import type { GuardedFetch } from '../lib/http/guarded-fetch.ts';
import { AddressListProblem } from '../lib/net/address-list/list-problem.ts';
import { GatheredBytes } from '../lib/net/gathered-bytes.ts';

/** Validators of the response in use (RFC 9110 §8.8), sent back to ask for something newer. */
export interface Validators {
  readonly etag: string;
  readonly lastModified: string;
}

export interface ListRequest {
  readonly url: string;
  /** Secret: such as a key of the list's publisher. */
  readonly headers: Readonly<Record<string, string>>;
  /** Null: any response is new. */
  readonly known: Validators | null;
  readonly signal: AbortSignal;
}

export type FetchedList = { readonly chunks: readonly Uint8Array[]; readonly validators: Validators } | null;

const MAX_VALIDATOR_LENGTH = 512;

/** Requests a list; null: it is unchanged. Rejects with AddressListProblem. Redirects are not followed: headers stay at their origin. */
export async function fetchList(
  fetch: GuardedFetch,
  { url, headers, known, signal }: ListRequest,
): Promise<FetchedList> {
  const into = new GatheredBytes();
  const response = await fetch(url, {
    signal,
    into,
    headers: {
      accept: 'text/plain, */*;q=0.5',
      'user-agent': 'postern',
      ...headers,
      'accept-encoding': 'identity',
      ...(known !== null && known.etag !== '' && { 'if-none-match': known.etag }),
      ...(known !== null && known.lastModified !== '' && { 'if-modified-since': known.lastModified }),
    },
  }).catch((error: unknown) => {
    const isRefused = error instanceof FetchProblem && error.reason === 'address_refused';
    const advice = isRefused ? '. The operator can allow it with the setting lists_allow_cidrs' : '';
    throw new AddressListProblem(
      `could not be fetched: ${error instanceof FetchProblem ? error.explanation : 'the request failed'}${advice}`,
    );
  });
  const { status } = response;
  if (status === 304 && known !== null) return null;
  if (status >= 300 && status < 400 && status !== 304) {
    throw new AddressListProblem(
      `was answered with a redirect (${status}), which is not followed: set url to its target`,
    );
  }
  if (status === 401 || status === 403)
    throw new AddressListProblem(`was answered with status ${status}: check the key in headers`);
  if (status !== 200) throw new AddressListProblem(`was answered with status ${status}`);
  if ((response.headers.get('content-encoding') ?? 'identity') !== 'identity')
    throw new AddressListProblem('was answered with a compressed response, which is not read');
  return {
    chunks: into.chunks(),
    validators: {
      etag: validator(response.headers.get('etag')),
      lastModified: validator(response.headers.get('last-modified')),
    },
  };
}

function validator(value: string | null): string {
  return value !== null && value.length <= MAX_VALIDATOR_LENGTH && /^[\x20-\x7e]*$/.test(value) ? value : '';
}
