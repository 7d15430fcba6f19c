import { hash } from 'node:crypto';
import { clearCookie, cookieValues, markedCookies, setCookie } from '../../kit/http/cookie-header.ts';
import { OWN_COOKIE_MARK } from '../contract/prepared-module.ts';
import type { LoginParameters } from './login-client.ts';

/**
 * A login in progress in one tab. It is sealed in the browser: nothing is stored on the server until a login succeeds.
 */
export interface Flow {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
  /** Path, query and fragment to return to. */
  readonly returnTo: string;
  readonly routeId: string;
  readonly host: string;
  /** Fingerprint of the requested login, see `askedFor`. */
  readonly askedFor: string;
  readonly redirectUri: string;
  readonly startedAtMs: number;
  /** The widest network of the visitor's address at that time. */
  readonly startedIn: string;
}

const NAME_PREFIX = '__Host-postern-flow-';
const MARK = `${OWN_COOKIE_MARK}f.`;
const STATE = /^[A-Za-z0-9_-]{43}\.\d$/;
const MAX_FLOWS = 8;
/** Sealed values that are opened per request: a browser has few, and no other host can plant them. */
const MAX_OPENED = 16;
const MAX_OPENED_PER_NAME = 2;
/** Many browsers and upstream servers stop at 8 or 16 KB of headers. */
const MAX_FLOW_BYTES = 8192;
/** Longer than a flow is valid, so that an expired one is recognized and starts again with its return path. */
const COOKIE_SECONDS = 7200;
const MAX_AGE_MS = 15 * 60_000;

interface Sealer {
  seal(purpose: string, text: string): string;
  open(purpose: string, sealed: string): string | null;
  randomText(bytes: number): string;
}

export class FlowCookies {
  readonly #sealer: Sealer;

  constructor(sealer: Sealer) {
    this.#sealer = sealer;
  }

  /**
   * `round` counts the attempts of one login; it is at the end of the state because it must survive a browser that
   * keeps no cookie.
   */
  newState(round: number): string {
    return `${this.#sealer.randomText(32)}.${Math.min(round, 9)}`;
  }

  /** Cookies to set: the new flow, and deletions of the oldest ones that no longer fit beside it. */
  start(lines: readonly string[], flow: Flow): readonly string[] {
    const name = nameOf(flow.state);
    const value = `${MARK}${this.#sealer.seal('login-flow', JSON.stringify(flow))}`;
    const others = markedCookies(lines, MARK)
      .filter((cookie) => cookie.name.startsWith(NAME_PREFIX))
      .map((cookie, at) => ({
        ...cookie,
        startedAtMs: at < MAX_OPENED ? (this.#read(cookie.value)?.startedAtMs ?? 0) : 0,
      }))
      .sort((a, b) => b.startedAtMs - a.startedAtMs);
    let bytes = value.length;
    const dropped = others.filter((cookie, at) => {
      bytes += cookie.value.length;
      return at >= MAX_FLOWS - 1 || bytes > MAX_FLOW_BYTES || cookie.startedAtMs === 0;
    });
    return [setCookie(name, value, COOKIE_SECONDS), ...dropped.map((cookie) => clearCookie(cookie.name))];
  }

  /** The flow of a callback's state; null when this browser did not start it. */
  find(lines: readonly string[], state: string): Flow | null {
    if (!STATE.test(state)) return null;
    for (const value of cookieValues(lines, nameOf(state)).slice(0, MAX_OPENED_PER_NAME)) {
      const flow = value.startsWith(MARK) ? this.#read(value) : null;
      if (flow?.state === state) return flow;
    }
    return null;
  }

  clear(state: string): string {
    return clearCookie(nameOf(state));
  }

  #read(value: string): Flow | null {
    const text = this.#sealer.open('login-flow', value.slice(MARK.length));
    return text === null ? null : (JSON.parse(text) as Flow);
  }
}

export function isFlowExpired(flow: Flow, nowMs: number): boolean {
  return nowMs - flow.startedAtMs > MAX_AGE_MS || flow.startedAtMs > nowMs + MAX_AGE_MS;
}

/** When no server accepts the flow any longer, however its clock is off. */
export function flowEndsAtMs(flow: Flow): number {
  return flow.startedAtMs + 2 * MAX_AGE_MS;
}

/** The attempt number of a login's state. */
export function roundOf(state: string): number {
  return STATE.test(state) ? Number(state.slice(-1)) : 0;
}

/**
 * Identifies the provider, client, scopes and parameters of a login. The fields themselves can exceed the 4 KB that
 * browsers accept for a cookie; and a login that is no longer requested with the same values has to start again anyway.
 */
export function askedFor(config: {
  readonly issuer: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
  readonly parameters: LoginParameters | null;
}): string {
  const { issuer, clientId, scopes, parameters } = config;
  const asked = [issuer, clientId, scopes, ...(parameters === null ? [] : [parameters])];
  return hash('sha256', JSON.stringify(asked), 'base64url');
}

function nameOf(state: string): string {
  return `${NAME_PREFIX}${state.slice(0, 16)}`;
}

const NAME = '__Host-postern-trail';
const VALUE = /^pstn1\.t\.(\d{1,13}(?:\.\d{1,13}){0,9})$/;
const WINDOW_MS = 60_000;
const MAX_LOGINS = 4;

/**
 * When this browser last returned from a login. A browser that returns repeatedly within a minute is in a loop that
 * another login will not end. Forging it harms only the browser itself, so it has no MAC.
 */
export function recentLogins(lines: readonly string[], nowMs: number): readonly number[] {
  const parts = VALUE.exec(cookieValues(lines, NAME)[0] ?? '');
  const times = parts === null ? [] : (parts[1] as string).split('.').map(Number);
  return times.filter((time) => time <= nowMs && nowMs - time < WINDOW_MS);
}

export function isLoop(logins: readonly number[]): boolean {
  return logins.length >= MAX_LOGINS;
}

export function trailCookie(logins: readonly number[]): string {
  return setCookie(NAME, `${OWN_COOKIE_MARK}t.${logins.slice(-MAX_LOGINS).join('.')}`, WINDOW_MS / 1000);
}

export function clearTrail(): string {
  return clearCookie(NAME);
}
