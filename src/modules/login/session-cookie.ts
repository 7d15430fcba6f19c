import { hash } from 'node:crypto';
import { type Cookie, clearCookie, cookieValues, markedCookies, setCookie } from '../../kit/http/cookie-header.ts';
import { isSameSecret } from '../../kit/text/secrets.ts';
import { OWN_COOKIE_MARK } from '../contract/prepared-module.ts';

const SESSION_MARK = `${OWN_COOKIE_MARK}s.`;
const COMPANION_MARK = `${OWN_COOKIE_MARK}b.`;
const SESSION_VALUE = /^pstn1\.s\.([A-Za-z0-9_-]{43})\.([0-9a-f]{32})$/;
const COMPANION_VALUE = /^pstn1\.b\.([0-9a-f]{8})\.[0-9a-f]{32}$/;
const MAC_LENGTH = 32;
const TAG_LENGTH = 8;
/** Companions that are read: a browser has one by a name. */
const MAX_COMPANIONS = 2;
/** Keys that are checked with a MAC, per request. A browser has one; strangers can send 200 that look like one. */
const MAX_CHECKS = 4;
/** The same for a logout, which asks for the keys under all prefixes. */
const MAX_CHECKED_NAMES = 16;
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
 * it. The companion repeats the start of the session cookie's MAC: planted and forged cookies differ there, and cost
 * a comparison instead of a MAC (150 of them took 1 ms).
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

  /** The key that the browser can prove; null: none. */
  find(lines: readonly string[], names: CookieNames): BrowserKey | null {
    const companions = cookieValues(lines, names.companion);
    return companions.length === 0 ? null : this.verify(cookieValues(lines, names.session), companions);
  }

  /** The key in the session cookie that has its companion; null if there is none. */
  verify(values: readonly string[], companions: readonly string[]): BrowserKey | null {
    let checks = 0;
    for (const companion of companions.slice(0, MAX_COMPANIONS)) {
      const tag = COMPANION_VALUE.exec(companion)?.[1];
      if (tag === undefined) continue;
      for (const value of values) {
        if (!value.startsWith(tag, value.length - MAC_LENGTH)) continue;
        const key = SESSION_VALUE.exec(value)?.[1];
        if (key === undefined) continue;
        if (checks === MAX_CHECKS) return null;
        checks += 1;
        const found = this.#check(key, value, companion);
        if (found !== null) return found;
      }
    }
    return null;
  }

  /** Every key that the browser can prove, under any prefix. */
  allKeys(lines: readonly string[]): readonly (BrowserKey & { readonly names: CookieNames })[] {
    const values = valuesByName(markedCookies(lines, SESSION_MARK));
    const companions = valuesByName(markedCookies(lines, COMPANION_MARK));
    const paired = [...values].filter(([name]) => companions.has(companionName(name)));
    return paired.slice(0, MAX_CHECKED_NAMES).flatMap(([session, ofName]) => {
      const names = { session, companion: companionName(session) };
      const key = this.verify(ofName, companions.get(names.companion) ?? []);
      return key === null ? [] : [{ ...key, names }];
    });
  }

  #check(key: string, value: string, companion: string): BrowserKey | null {
    // Nothing more is computed for a forged cookie.
    if (!isSameSecret(this.#valueOf(key), value)) return null;
    const known = this.#keyOf(key);
    return isSameSecret(companion, known.companionValue) ? known : null;
  }

  #valueOf(key: string): string {
    return `${SESSION_MARK}${key}.${this.#mac('login-session', key).slice(0, MAC_LENGTH)}`;
  }

  #keyOf(key: string): BrowserKey {
    const cookieValue = this.#valueOf(key);
    const tag = cookieValue.slice(-MAC_LENGTH).slice(0, TAG_LENGTH);
    return {
      cookieValue,
      companionValue: `${COMPANION_MARK}${tag}.${this.#mac('login-companion', key).slice(0, MAC_LENGTH)}`,
      keyHash: hash('sha256', key),
    };
  }
}

function valuesByName(cookies: readonly Cookie[]): ReadonlyMap<string, readonly string[]> {
  const byName = new Map<string, string[]>();
  for (const { name, value } of cookies) byName.set(name, [...(byName.get(name) ?? []), value]);
  return byName;
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
