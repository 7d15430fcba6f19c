import { hash, timingSafeEqual } from 'node:crypto';
import { OWN_COOKIE_MARK } from '../../prepared-module.ts';
import { type Cookie, clearCookie, cookieValues, markedCookies, setCookie } from './cookie-header.ts';

const SESSION_MARK = `${OWN_COOKIE_MARK}s.`;
const COMPANION_MARK = `${OWN_COOKIE_MARK}b.`;
const SESSION_VALUE = /^pstn1\.s\.([A-Za-z0-9_-]{43})\.([0-9a-f]{32})$/;
const MAC_LENGTH = 32;
/** The maximum that browsers allow. */
const MAX_AGE_SECONDS = 400 * 86_400;

export interface CookieNames {
  readonly session: string;
  readonly companion: string;
}

/** A browser's key as carried by its cookies. */
export interface BrowserKey {
  readonly cookieValue: string;
  readonly companionValue: string;
  /** SHA-256 of the key, in hex: the form that the store knows. */
  readonly keyHash: string;
}

/**
 * Two cookies carry a browser's key. The session cookie, named by the module's `cookie_prefix`, contains the key and a
 * MAC, so that a forged one costs no lookup. A sibling host could plant one for the parent domain (of its own user, for
 * example) but cannot plant a `__Host-` cookie: so a key counts only together with the companion that was set beside
 * it.
 */
export class SessionCookies {
  readonly #mac: (purpose: string, data: string) => string;
  readonly #randomText: (bytes: number) => string;

  constructor(mac: (purpose: string, data: string) => string, randomText: (bytes: number) => string) {
    this.#mac = mac;
    this.#randomText = randomText;
  }

  create(): BrowserKey {
    return this.#keyOf(this.#randomText(32));
  }

  /** The key in a session cookie that has its companion; null for everything else. */
  verify(cookieValue: string, companions: readonly string[]): BrowserKey | null {
    const parts = companions.length === 0 ? null : SESSION_VALUE.exec(cookieValue);
    if (parts === null) return null;
    // Nothing more is computed for a forged cookie: a request can contain many.
    if (!isSame(this.#valueOf(parts[1] as string), cookieValue)) return null;
    const key = this.#keyOf(parts[1] as string);
    return companions.some((companion) => isSame(companion, key.companionValue)) ? key : null;
  }

  /** Every key that the browser can prove, under any prefix. */
  allKeys(lines: readonly string[]): readonly (BrowserKey & { readonly names: CookieNames })[] {
    return markedCookies(lines, SESSION_MARK).flatMap(({ name, value }: Cookie) => {
      const names = { session: name, companion: companionName(name) };
      const key = this.verify(value, cookieValues(lines, names.companion));
      return key === null ? [] : [{ ...key, names }];
    });
  }

  #valueOf(key: string): string {
    return `${SESSION_MARK}${key}.${this.#mac('login-session', key).slice(0, MAC_LENGTH)}`;
  }

  #keyOf(key: string): BrowserKey {
    return {
      cookieValue: this.#valueOf(key),
      companionValue: `${COMPANION_MARK}${this.#mac('login-companion', key).slice(0, MAC_LENGTH)}`,
      keyHash: hash('sha256', key),
    };
  }
}

export function cookieNames(prefix: string): CookieNames {
  const session = `${prefix === '' ? 'postern.' : prefix}session`;
  return { session, companion: companionName(session) };
}

export function setSessionCookies(names: CookieNames, key: BrowserKey, maximumSeconds: number): readonly string[] {
  const maxAge = maximumSeconds === 0 ? MAX_AGE_SECONDS : Math.min(maximumSeconds, MAX_AGE_SECONDS);
  return [setCookie(names.session, key.cookieValue, maxAge), setCookie(names.companion, key.companionValue, maxAge)];
}

export function clearSessionCookies(names: CookieNames): readonly string[] {
  return [clearCookie(names.session), clearCookie(names.companion)];
}

function companionName(session: string): string {
  return `__Host-${session}`;
}

function isSame(a: string, b: string): boolean {
  // One byte per character, like headers: equal length here is equal length there, which the comparison requires.
  return a.length === b.length && timingSafeEqual(Buffer.from(a, 'latin1'), Buffer.from(b, 'latin1'));
}
