import type { Clock } from '../../lib/clock.ts';
import type { GuardedFetch } from '../../lib/http/guarded-fetch.ts';
import { retryAtMs } from '../../lib/http/retry-after.ts';
import type { JsonObject, JsonValue } from '../../lib/json.ts';
import type { AccountKey } from './account-key.ts';
import { AcmeFailure } from './acme-failure.ts';
import { type AcmeResponse, acmeRequest, foreignOrigin, parsedJson } from './acme-transport.ts';
import { type Directory, readDirectory } from './directory.ts';
import { failureOf, problemOf } from './problem.ts';
import { signedMessage } from './signed-message.ts';

export interface Signer {
  readonly key: AccountKey;
  /** Null: the request carries the public key instead, as registrations do. */
  readonly accountUrl: string | null;
}

export interface PostOptions {
  readonly signer: Signer;
  readonly payload: JsonObject | null;
  /** For the message if it fails: "rejected the order". */
  readonly action: string;
  readonly accept?: string;
  readonly signal: AbortSignal;
}

export interface AcmeAnswer {
  readonly status: number;
  readonly json: JsonValue | undefined;
  readonly text: string;
  readonly location: string | null;
  readonly retryAtMs: number | null;
}

export interface AcmeServerOptions {
  readonly directoryUrl: string;
  /** Beside that of the directory. */
  readonly furtherOrigins: readonly string[];
  readonly fetch: GuardedFetch;
  readonly clock: Clock;
  /** Ends with the process: the directory is read for all jobs together. */
  readonly closing: AbortSignal;
}

const DIRECTORY_MS = 60 * 60 * 1000;
/** With hundreds of names, each would otherwise wait for the same dead server. */
const FAILED_DIRECTORY_MS = 15_000;
const MAX_NONCES = 32;
const MAX_BAD_NONCES = 20;
const JSON_TYPES = ['application/json', 'application/problem+json'];

/** Signed requests to one ACME server. */
export class AcmeServer {
  readonly directoryUrl: string;
  readonly host: string;
  readonly #options: AcmeServerOptions;
  readonly #origins: ReadonlySet<string>;
  readonly #nonces: string[] = [];
  #directory: { readonly read: Promise<Directory>; untilMs: number } | null = null;

  constructor(options: AcmeServerOptions) {
    this.#options = options;
    this.directoryUrl = options.directoryUrl;
    const { host, origin } = new URL(options.directoryUrl);
    this.host = host;
    this.#origins = new Set([origin, ...options.furtherOrigins]);
  }

  directory(): Promise<Directory> {
    const { clock } = this.#options;
    if (this.#directory === null || clock.nowMs() >= this.#directory.untilMs) {
      const entry = { read: this.#readDirectory(), untilMs: clock.nowMs() + DIRECTORY_MS };
      this.#directory = entry;
      entry.read.catch(() => {
        entry.untilMs = clock.nowMs() + FAILED_DIRECTORY_MS;
      });
    }
    return this.#directory.read;
  }

  /** After a failure: the server's URLs may have changed. */
  distrustDirectory(): void {
    if (this.#directory === null) return;
    this.#directory.untilMs = Math.min(this.#directory.untilMs, this.#options.clock.nowMs() + FAILED_DIRECTORY_MS);
  }

  /** Unsigned, as for renewal information. */
  async get(url: string, action: string, signal: AbortSignal): Promise<AcmeAnswer> {
    return this.#answer(await this.#request(url, { method: 'GET', accept: 'application/json', signal }), action);
  }

  /** Signs with a fresh nonce, again when the server rejects that (RFC 8555 §6.5). */
  async post(url: string, { signer, payload, action, accept, signal }: PostOptions): Promise<AcmeAnswer> {
    for (let rejected = 0; ; rejected += 1) {
      const nonce = this.#nonces.pop() ?? (await this.#newNonce(signal));
      const body = await signedMessage(signer.key, signer.accountUrl, { url, nonce, payload });
      const response = await this.#request(url, { method: 'POST', body, accept: accept ?? 'application/json', signal });
      try {
        return this.#answer(response, action, accept);
      } catch (error) {
        const isBadNonce = error instanceof AcmeFailure && error.problem === 'badNonce';
        if (!isBadNonce || rejected >= MAX_BAD_NONCES) throw error;
      }
    }
  }

  async #readDirectory(): Promise<Directory> {
    const { json } = await this.get(this.directoryUrl, 'did not return its directory', this.#options.closing);
    return readDirectory(json, this.directoryUrl, (url) => this.#isOwn(url));
  }

  async #newNonce(signal: AbortSignal): Promise<string> {
    const { newNonce } = await this.directory();
    const response = await this.#request(newNonce, { method: 'HEAD', signal });
    const nonce = this.#nonces.pop();
    if (nonce !== undefined) return nonce;
    const { status } = response;
    throw failureOf(this.host, { status, problem: null, retryAtMs: null, action: 'returned no nonce' });
  }

  /** Whether the server may name this URL: a directory must not make this server send requests anywhere else. */
  #isOwn(url: string): boolean {
    return this.#origins.has(new URL(url).origin);
  }

  async #request(url: string, request: Parameters<typeof acmeRequest>[2]): Promise<AcmeResponse> {
    if (!this.#isOwn(url)) throw foreignOrigin(this.host, url);
    const response = await acmeRequest(this.#options.fetch, url, request);
    const nonce = response.headers.get('replay-nonce') ?? '';
    if (/^[A-Za-z0-9_-]{1,512}$/.test(nonce) && this.#nonces.length < MAX_NONCES) this.#nonces.push(nonce);
    return response;
  }

  #answer(response: AcmeResponse, action: string, accept?: string): AcmeAnswer {
    const { status, headers, contentType, text } = response;
    const retry = retryAtMs(headers.get('retry-after'), this.#options.clock.nowMs());
    const json = JSON_TYPES.includes(contentType) ? parsedJson(text) : undefined;
    if (status < 200 || status > 299) {
      throw failureOf(this.host, { status, problem: problemOf(json), retryAtMs: retry, action });
    }
    if (text !== '' && (accept === undefined ? json === undefined : contentType !== accept)) {
      const expected = accept ?? 'JSON';
      const message = `${this.host} ${action}: it sent "${contentType.slice(0, 80)}" instead of ${expected}`;
      throw new AcmeFailure('ERR_POSTERN_ACME_RESPONSE', message, { isOrderAlive: true });
    }
    return { status, json, text, location: headers.get('location'), retryAtMs: retry };
  }
}
