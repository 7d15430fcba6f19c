import { FetchProblem } from '../../kit/http/fetch-problem.ts';
import { createGuardedFetch, type GuardedFetch } from '../../kit/http/guarded-fetch.ts';
import { retryAtMs } from '../../kit/http/header-values.ts';
import { isLoopbackHost } from '../../kit/net/listen-address.ts';
import { shownText } from '../../kit/text/terminal-text.ts';
import { DnsFailure, type ProviderPorts } from './dns-provider.ts';

export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly url: string;
  /** Made again for each attempt: signatures contain the time. */
  readonly headers: () => Readonly<Record<string, string>>;
  readonly body?: string;
  /** Whether another attempt can help, by status and text; those of RFC 6585 and RFC 9110 are known. */
  readonly isTemporary?: (status: number, text: string) => boolean;
}

export interface ApiAnswer {
  readonly status: number;
  readonly text: string;
}

const TIMEOUT_MS = 30_000;
const MAX_BYTES = 1024 * 1024;
const MAX_ATTEMPTS = 5;
const FIRST_WAIT_MS = 1_000;
/** A provider that asks for a longer pause gets it: the order fails, and is tried again later. */
const LONGEST_WAIT_MS = 60_000;
const TEMPORARY: readonly number[] = [429, 502, 503, 504];

/** HTTPS to APIs that the operator named, bounded in size and time, without redirects. */
export function createProviderFetch(): GuardedFetch {
  return createGuardedFetch({
    isAddressAllowed: () => true,
    isPlainHttpAllowed: isLoopbackHost,
    timeoutMs: TIMEOUT_MS,
    maxBytes: MAX_BYTES,
  });
}

/** Sends the request until the provider has time for it. Every status that is not temporary is an answer. */
export async function callApi(
  request: ApiRequest,
  { fetch, wait, nowMs }: Pick<ProviderPorts, 'fetch' | 'wait' | 'nowMs'>,
  signal: AbortSignal,
): Promise<ApiAnswer> {
  const { method, url, body = null, headers, isTemporary = () => false } = request;
  const { host } = new URL(url);
  for (let attempt = 1; ; attempt += 1) {
    try {
      const response = await fetch(url, { method, headers: headers(), body, signal });
      const text = await response.text();
      const { status } = response;
      if (!TEMPORARY.includes(status) && !isTemporary(status, text)) return { status, text };
      const given = retryAtMs(response.headers.get('retry-after'), nowMs());
      const waitMs = given === null ? FIRST_WAIT_MS * 2 ** (attempt - 1) : Math.max(given - nowMs(), FIRST_WAIT_MS);
      if (attempt === MAX_ATTEMPTS || waitMs > LONGEST_WAIT_MS)
        throw new DnsFailure(`${host} is busy or limits requests (status ${status}): the next attempt follows later`);
      await wait(waitMs, signal);
    } catch (error) {
      if (error instanceof FetchProblem)
        throw new DnsFailure(`${error.message}: check the address and outgoing connections`);
      throw error;
    }
  }
}

/** A reason of the provider for a message, without the secret that it may repeat. */
export function reasonOf(text: string, secrets: readonly string[]): string {
  return shownText(withoutSecrets(text, secrets));
}

export function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secrets.reduce((shown, secret) => shown.replaceAll(secret, '********'), text);
}

/** A text or number of an answer; empty for anything else. */
export function plainText(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

/** The answer as JSON; null for anything else. */
export function jsonOf({ text }: ApiAnswer): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
