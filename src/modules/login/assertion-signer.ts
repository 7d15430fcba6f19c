import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject, sign } from 'node:crypto';
import { promisify } from 'node:util';
import type { Clock } from '../../kit/clock.ts';
import type { ModuleRecords } from '../contract/keeps-state.ts';
import type { UpstreamUser } from './claims.ts';

const LIFETIME_SECONDS = 300;
/** An assertion is reused for this long, so that it costs a signature per minute instead of per request. */
const REUSED_MS = 60_000;
/** For upstreams whose clocks are slightly behind. */
const EARLY_SECONDS = 5;
/** A key is published this long before it signs: readers that cache the list have it by then. */
const SHOWN_BEFORE_USE_MS = 3_600_000;

export interface Assertion {
  readonly token: string;
  readonly signedAtMs: number;
}

/** Whether it may still be sent upstream: not if it was signed while the clock was ahead. */
export function isFresh({ signedAtMs }: Assertion, nowMs: number): boolean {
  const ageMs = nowMs - signedAtMs;
  return ageMs < REUSED_MS && ageMs > -EARLY_SECONDS * 1000;
}

interface SigningKey {
  readonly id: string;
  readonly createdAtMs: number;
  readonly privateKey: KeyObject;
  readonly jwk: object;
}

/**
 * Signs who sends a request (JWT, ES256), so that an upstream need not trust the network in between. Uses `node:crypto`
 * directly and not jose, whose signing is asynchronous: this is on the request's path. Tests verify the result with
 * jose.
 */
export class AssertionSigner {
  readonly #records: SigningKeyRecords;
  readonly #parsed = new Map<string, SigningKey>();

  constructor(records: SigningKeyRecords) {
    this.#records = records;
  }

  sign(user: UpstreamUser, nowMs: number): Assertion {
    const key = this.#current(nowMs);
    const iat = Math.floor(nowMs / 1000);
    const { email, name } = user;
    const claims = {
      iss: user.origin,
      aud: user.host,
      sub: user.id,
      kind: user.kind,
      iat,
      nbf: iat - EARLY_SECONDS,
      exp: iat + LIFETIME_SECONDS,
      sid: user.sessionId,
      provider: user.provider,
      provider_sub: user.subject,
      ...(email !== null && { email: email.address, email_verified: email.isVerified }),
      ...(name !== '' && { name }),
    };
    const signed = `${encoded({ alg: 'ES256', typ: 'JWT', kid: key.id })}.${encoded(claims)}`;
    const signature = sign('sha256', Buffer.from(signed), { key: key.privateKey, dsaEncoding: 'ieee-p1363' });
    return { token: `${signed}.${signature.toString('base64url')}`, signedAtMs: nowMs };
  }

  /** RFC 7517, for upstreams that verify. */
  publicKeys(): { readonly keys: readonly object[] } {
    return { keys: this.#keys().map(({ jwk }) => jwk) };
  }

  #current(nowMs: number): SigningKey {
    const keys = this.#keys();
    const key = keys.find(({ createdAtMs }) => nowMs - createdAtMs >= SHOWN_BEFORE_USE_MS) ?? keys.at(-1);
    if (key === undefined) throw new Error('there is no key to sign assertions with');
    return key;
  }

  /** Newest first. */
  #keys(): readonly SigningKey[] {
    return this.#records.list().map((record) => {
      let parsed = this.#parsed.get(record.id);
      if (parsed === undefined) {
        const privateKey = createPrivateKey(record.privateKey);
        const jwk = {
          ...createPublicKey(privateKey).export({ format: 'jwk' }),
          kid: record.id,
          alg: 'ES256',
          use: 'sig',
        };
        parsed = { id: record.id, createdAtMs: record.createdAtMs, privateKey, jwk };
        this.#parsed.set(record.id, parsed);
      }
      return parsed;
    });
  }
}

function encoded(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

export const SIGNING_KEY_KIND = 'signing_key';
const FIELD = 'private_key';

/** Keys that prove to upstreams that a header comes from the edge. */
export interface SigningKeyRecord {
  readonly id: string;
  readonly createdAtMs: number;
  /** PKCS #8, PEM. */
  readonly privateKey: string;
}

export interface SigningKeyRecords {
  /** Newest first. */
  list(): readonly SigningKeyRecord[];
  /** Only if there is none with this id: of two processes that create one at once, both end with the same key. */
  add(key: SigningKeyRecord): Promise<void>;
  remove(id: string): Promise<void>;
}

/** Stored like any secret: sealed at rest, in backups, the same for all processes. */
export function signingKeys(records: ModuleRecords): SigningKeyRecords {
  return {
    list: () =>
      records
        .list(SIGNING_KEY_KIND)
        .map(({ id, doc, secret }) => ({
          id,
          createdAtMs: doc['created_at_ms'] as number,
          privateKey: secret.text,
        }))
        .sort((a, b) => b.createdAtMs - a.createdAtMs),
    add: ({ id, createdAtMs, privateKey: text }) =>
      records.add(SIGNING_KEY_KIND, { id, doc: { created_at_ms: createdAtMs }, secret: { field: FIELD, text } }),
    remove: (id) => records.remove(SIGNING_KEY_KIND, id),
  };
}

const DAY_MS = 86_400_000;
const LIFETIME_MS = 30 * DAY_MS;
/**
 * A retired key is published until no assertion signed by it can be valid, and longer for upstreams whose clocks are
 * off.
 */
const SHOWN_AFTER_MS = DAY_MS;

/** Ensures that there is a key, a new one every 30 days, and none that is no longer needed. */
export async function rotateSigningKeys(records: SigningKeyRecords, clock: Clock): Promise<void> {
  const now = clock.nowMs();
  const keys = records.list();
  const newest = keys[0];
  if (newest === undefined || now - newest.createdAtMs >= LIFETIME_MS) {
    const { privateKey } = await promisify(generateKeyPair)('ec', {
      namedCurve: 'P-256',
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
      publicKeyEncoding: { type: 'spki', format: 'pem' },
    });
    // Named by the period: two processes that do this at once create the same key, and the second finds it.
    const period = newest === undefined ? 0 : Math.floor(now / LIFETIME_MS);
    await records.add({ id: `asg-${period}`, createdAtMs: now, privateKey });
  }
  for (const [at, key] of keys.entries()) {
    const successor = keys[at - 1];
    if (successor !== undefined && now - successor.createdAtMs > DAY_MS + SHOWN_AFTER_MS) await records.remove(key.id);
  }
}
