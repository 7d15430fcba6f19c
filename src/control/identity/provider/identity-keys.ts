import { createPrivateKey, generateKeyPair, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import type { JWK } from 'oidc-provider';
import type { Clock } from '../../../kit/clock.ts';
import type { JsonObject } from '../../../kit/json.ts';

export const IDENTITY_KEY_KIND = 'identity_key';

const FIELD = 'private_key';
const DAY_MS = 86_400_000;
/** A key signs this long. */
const LIFETIME_MS = 90 * DAY_MS;
/** Published before it signs, so that applications which keep the keys for hours know it. */
const ANNOUNCED_MS = DAY_MS;
/** Longer than any token that it signed is valid. */
const SHOWN_AFTER_MS = 2 * DAY_MS;

/** Records with one sealed field, the same for all nodes. */
interface SealedRecords {
  list(kind: string): readonly SealedRecord[];
  /** Only if there is none with this id: of two processes that add one at once, both end with the same record. */
  add(kind: string, record: SealedRecord): Promise<void>;
  remove(kind: string, id: string): Promise<void>;
}

interface SealedRecord {
  readonly id: string;
  readonly doc: JsonObject;
  readonly secret: { readonly field: string; readonly text: string };
}

interface CurrentKeys {
  readonly fingerprint: string;
  readonly jwks: readonly JWK[];
}

interface IdentityKey {
  readonly id: string;
  readonly createdAtMs: number;
  readonly pem: string;
}

/** The provider's signing keys: sealed records, so backups have them and a new secret key seals them again. */
export class IdentityKeys {
  readonly #records: SealedRecords;
  readonly #clock: Clock;
  #read: CurrentKeys | null = null;

  constructor(records: SealedRecords, clock: Clock) {
    this.#records = records;
    this.#clock = clock;
  }

  /** Ensures that there is a key, that its successor is announced in time, and that none stays longer than needed. */
  async rotate(): Promise<void> {
    const now = this.#clock.nowMs();
    const keys = this.#list();
    const newest = keys[0];
    if (newest === undefined || now - newest.createdAtMs >= LIFETIME_MS - ANNOUNCED_MS) {
      // Named by the period: two processes that do this at once create the same key, and the second finds it.
      const period = newest === undefined ? 'first' : String(Math.floor(now / LIFETIME_MS));
      await this.#add(`ik-${period}`, now);
    }
    for (const [at, key] of keys.entries()) {
      const successor = keys[at - 1];
      if (successor === undefined || now - successor.createdAtMs <= ANNOUNCED_MS + SHOWN_AFTER_MS) continue;
      await this.#records.remove(IDENTITY_KEY_KIND, key.id);
    }
  }

  /** The one that signs first. Equal texts mean equal keys: the provider must be made again when it changes. */
  current(): CurrentKeys {
    const keys = this.#list();
    const announcedBefore = this.#clock.nowMs() - ANNOUNCED_MS;
    const signing = keys.find(({ createdAtMs }) => createdAtMs <= announcedBefore) ?? keys.at(-1);
    const ordered = [...keys].sort((a, b) => Number(b === signing) - Number(a === signing));
    const fingerprint = ordered.map(({ id, createdAtMs }) => `${id}@${createdAtMs}`).join(' ');
    // Every request asks, and reading a key costs more than the rest of most of them.
    if (this.#read?.fingerprint !== fingerprint) this.#read = { fingerprint, jwks: ordered.map(jwkOf) };
    return this.#read;
  }

  /** Newest first. */
  #list(): readonly IdentityKey[] {
    return this.#records
      .list(IDENTITY_KEY_KIND)
      .map(({ id, doc, secret }) => ({ id, createdAtMs: doc['created_at_ms'] as number, pem: secret.text }))
      .sort((a, b) => b.createdAtMs - a.createdAtMs);
  }

  async #add(id: string, createdAtMs: number): Promise<void> {
    const { privateKey } = await promisify(generateKeyPair)('rsa', {
      modulusLength: 2048,
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
      publicKeyEncoding: { type: 'spki', format: 'pem' },
    });
    const secret = { field: FIELD, text: privateKey };
    await this.#records.add(IDENTITY_KEY_KIND, { id, doc: { created_at_ms: createdAtMs }, secret });
  }
}

/** RS256: the only algorithm that every application knows (OpenID Connect Core §15.1). */
function jwkOf({ id, createdAtMs, pem }: IdentityKey): JWK {
  const jwk = createPrivateKey(pem).export({ format: 'jwk' });
  return { ...jwk, kid: `${id}-${createdAtMs.toString(36)}`, use: 'sig', alg: 'RS256' } as JWK;
}

/** Signs the session's cookie: an invented one costs no read. In the form that the library's cookies expect of keys. */
export class CookieSignature {
  readonly #mac: (purpose: string, data: string) => string;

  constructor(mac: (purpose: string, data: string) => string) {
    this.#mac = mac;
  }

  sign(data: string): string {
    return Buffer.from(this.#mac('identity-cookie', data), 'hex').toString('base64url');
  }

  /** Position of the key that signed it; -1: none. */
  index(data: string, signature: string): number {
    const [expected, given] = [Buffer.from(this.sign(data)), Buffer.from(signature)];
    return expected.length === given.length && timingSafeEqual(expected, given) ? 0 : -1;
  }

  verify(data: string, signature: string): boolean {
    return this.index(data, signature) === 0;
  }
}
