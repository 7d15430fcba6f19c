import { createPrivateKey, generateKeyPair, type KeyObject, type webcrypto } from 'node:crypto';
import { promisify } from 'node:util';
import { calculateJwkThumbprint, FlattenedSign, type JWK } from 'jose';
import type { Clock } from '../../../kit/clock.ts';
import { FetchProblem } from '../../../kit/http/fetch-problem.ts';
import type { GuardedFetch } from '../../../kit/http/guarded-fetch.ts';
import { retryAtMs } from '../../../kit/http/header-values.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../kit/json.ts';
import { AcmeFailure, failureOf, problemOf } from './acme-failure.ts';

const encoder = new TextEncoder();

interface Signed {
  readonly url: string;
  readonly nonce: string;
  /** Null: a POST-as-GET (RFC 8555 §6.3). */
  readonly payload: JsonObject | null;
}

/** A request body of RFC 8555 §6.2. Without an account URL it carries the public key. */
async function signedMessage(
  key: AccountKey,
  accountUrl: string | null,
  { url, nonce, payload }: Signed,
): Promise<string> {
  const header = accountUrl === null ? { jwk: key.publicJwk } : { kid: accountUrl };
  const jws = await new FlattenedSign(bytesOf(payload))
    .setProtectedHeader({ alg: 'ES256', ...header, nonce, url })
    .sign(key.privateKey);
  return JSON.stringify(jws);
}

/** Binds the account to one that the operator of the server knows (RFC 8555 §7.3.4). */
export async function accountBinding(
  publicJwk: JWK,
  url: string,
  { keyId, key }: { readonly keyId: string; readonly key: string },
): Promise<JsonObject> {
  const jws = await new FlattenedSign(bytesOf(publicJwk as JsonObject))
    .setProtectedHeader({ alg: 'HS256', kid: keyId, url })
    .sign(Buffer.from(key, 'base64url'));
  return { ...jws } as JsonObject;
}

/** The inner message of a key change (RFC 8555 §7.3.5): signed by the new key, without a nonce. */
export async function keyChangeMessage(
  next: AccountKey,
  old: AccountKey,
  { accountUrl, url }: { readonly accountUrl: string; readonly url: string },
): Promise<JsonObject> {
  const payload = { account: accountUrl, oldKey: old.publicJwk as JsonObject };
  const jws = await new FlattenedSign(bytesOf(payload))
    .setProtectedHeader({ alg: 'ES256', jwk: next.publicJwk, url })
    .sign(next.privateKey);
  return { ...jws } as JsonObject;
}

function bytesOf(payload: JsonObject | null): Uint8Array {
  return payload === null ? new Uint8Array() : encoder.encode(JSON.stringify(payload));
}

/** P-256 with ES256, which RFC 8555 §6.2 requires of every server. */
export interface AccountKey {
  readonly privateKey: KeyObject;
  readonly publicJwk: JWK;
  readonly thumbprint: string;
}

/** As it is stored: a JWK as JSON text. */
export async function newAccountKeyText(): Promise<string> {
  const { privateKey } = await promisify(generateKeyPair)('ec', { namedCurve: 'P-256' });
  return JSON.stringify(privateKey.export({ format: 'jwk' }));
}

export async function readAccountKey(text: string): Promise<AccountKey> {
  const jwk = JSON.parse(text) as webcrypto.JsonWebKey;
  const { kty, crv, x, y } = jwk;
  const publicJwk = { kty, crv, x, y } as JWK;
  return {
    privateKey: createPrivateKey({ key: jwk, format: 'jwk' }),
    publicJwk,
    thumbprint: await calculateJwkThumbprint(publicJwk),
  };
}

interface AcmeRequest {
  readonly method: 'GET' | 'HEAD' | 'POST';
  readonly body?: string;
  readonly accept?: string;
  readonly signal: AbortSignal;
}

interface AcmeResponse {
  readonly status: number;
  readonly headers: Headers;
  /** Without parameters, lower case. */
  readonly contentType: string;
  readonly text: string;
}

const USER_AGENT = 'postern (ACME client; RFC 8555)';
const MAX_URL = 2048;

/** One request. Bodies and times are bounded by the fetch. */
async function acmeRequest(fetch: GuardedFetch, url: string, request: AcmeRequest): Promise<AcmeResponse> {
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

function parsedJson(text: string): JsonValue | undefined {
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
function foreignOrigin(host: string, url: string): AcmeFailure {
  const { origin } = new URL(url);
  const message = `${host} names a URL at ${origin}, which is not the origin of its directory: if this server really uses it, add ${origin} to acme_origins`;
  return new AcmeFailure('ERR_POSTERN_ACME_RESPONSE', message, { isOrderAlive: true });
}

/** The server's resources (RFC 8555 §7.1.1). */
interface Directory {
  readonly newNonce: string;
  readonly newAccount: string;
  readonly newOrder: string;
  /** Null: keys cannot be changed. */
  readonly keyChange: string | null;
  /** RFC 9773. Null: the server has no renewal information. */
  readonly renewalInfo: string | null;
  readonly isBindingRequired: boolean;
  readonly profiles: readonly string[];
}

/** `isOwn`: whether the server may name this URL. */
function readDirectory(json: JsonValue | undefined, directoryUrl: string, isOwn: (url: string) => boolean): Directory {
  if (!isJsonObject(json)) throw unusable(directoryUrl, 'the response is not a JSON object');
  const required = (name: string): string => {
    const url = json[name];
    if (!isUsableUrl(url)) throw unusable(directoryUrl, `"${name}" is not an https URL`);
    if (!isOwn(url)) throw foreignOrigin(new URL(directoryUrl).host, url);
    return url;
  };
  // Left out if it is elsewhere, as the renewal information of ZeroSSL is: certificates are renewed without it too.
  const optional = (name: string): string | null => {
    const url = json[name];
    return isUsableUrl(url) && isOwn(url) ? url : null;
  };
  const meta = isJsonObject(json['meta']) ? json['meta'] : {};
  const profiles = isJsonObject(meta['profiles']) ? Object.keys(meta['profiles']) : [];
  return {
    newNonce: required('newNonce'),
    newAccount: required('newAccount'),
    newOrder: required('newOrder'),
    keyChange: optional('keyChange'),
    renewalInfo: optional('renewalInfo'),
    isBindingRequired: meta['externalAccountRequired'] === true,
    profiles,
  };
}

function unusable(directoryUrl: string, reason: string): AcmeFailure {
  return new AcmeFailure(
    'ERR_POSTERN_ACME_RESPONSE',
    `${directoryUrl} is not an ACME directory: ${reason}. Set acme_directory to the directory URL of an ACME server`,
    { isOrderAlive: true },
  );
}

export interface Signer {
  readonly key: AccountKey;
  /** Null: the request carries the public key instead, as registrations do. */
  readonly accountUrl: string | null;
}

interface PostOptions {
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

interface AcmeServerOptions {
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
