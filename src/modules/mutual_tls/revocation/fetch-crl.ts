import { FetchProblem } from '../../../lib/http/fetch-problem.ts';
import type { GuardedFetch } from '../../../lib/http/guarded-fetch.ts';
import { ListProblem } from '../../../lib/pki/revocation-list/list-problem.ts';

/** Validators of the response in use (RFC 9110 §8.8), sent back to ask for something newer. */
export interface Validators {
  readonly etag: string;
  readonly lastModified: string;
}

export type FetchedCrl =
  | { readonly isUnchanged: true }
  | { readonly isUnchanged: false; readonly bytes: Buffer; readonly validators: Validators };

const MAX_VALIDATOR_LENGTH = 512;

/** Requests a list. Throws FetchProblem or ListProblem, with messages for the operator. */
export async function fetchCrl(fetch: GuardedFetch, url: string, known: Validators | null): Promise<FetchedCrl> {
  const response = await fetch(url, {
    headers: {
      accept: 'application/pkix-crl, application/x-pem-file, */*;q=0.5',
      ...(known !== null && known.etag !== '' && { 'if-none-match': known.etag }),
      ...(known !== null && known.lastModified !== '' && { 'if-modified-since': known.lastModified }),
    },
  });
  const { status } = response;
  if (status === 304 && known !== null) return { isUnchanged: true };
  if (status >= 300 && status < 400) {
    throw new ListProblem(`was answered with a redirect (${status}), which is not followed: set crl_url to its target`);
  }
  if (status !== 200) throw new ListProblem(`was answered with status ${status}`);
  return {
    isUnchanged: false,
    bytes: Buffer.from(await response.arrayBuffer()),
    validators: {
      etag: validator(response.headers.get('etag')),
      lastModified: validator(response.headers.get('last-modified')),
    },
  };
}

function validator(value: string | null): string {
  return value !== null && value.length <= MAX_VALIDATOR_LENGTH && /^[\x20-\x7e]*$/.test(value) ? value : '';
}

/** For `crl_error`: one line of limited length, without anything that the server chose. */
export function explain(error: unknown): string {
  if (error instanceof ListProblem) return `the list ${error.message}`;
  if (error instanceof FetchProblem) {
    const isRefused = error.reason === 'address_refused';
    const advice = isRefused ? '. The operator can allow it with the setting crl_allow_cidrs' : '';
    return `the list could not be fetched: ${error.explanation}${advice}`;
  }
  return 'the list could not be processed';
}
