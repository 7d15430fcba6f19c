import { hash, randomBytes } from 'node:crypto';
import { OWN_COOKIE_MARK } from '../../prepared-module.ts';
import { clearCookie, cookieValues, markedCookies, setCookie } from './cookie-header.ts';

/** A login that is under way in one tab. It lives in the browser, sealed: until a login succeeds nothing is written here. */
export interface Flow {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
  /** Path, query and fragment to come back to. */
  readonly returnTo: string;
  readonly routeId: string;
  readonly host: string;
  /** Of what was asked for, see `askedFor`. */
  readonly askedFor: string;
  readonly redirectUri: string;
  readonly startedAtMs: number;
  /** The widest network of the visitor's address then; logins begun under an earlier version have none. */
  readonly startedIn?: string;
}

const NAME_PREFIX = '__Host-postern-flow-';
const MARK = `${OWN_COOKIE_MARK}f.`;
const STATE = /^[A-Za-z0-9_-]{43}\.\d$/;
const MAX_FLOWS = 8;
/** Many browsers and upstream servers end at 8 or 16 KB of headers. */
const MAX_FLOW_BYTES = 8192;
/** Longer than a flow is good for, so that one which took too long is known, and starts again with its way back. */
const COOKIE_SECONDS = 7200;
const MAX_AGE_MS = 15 * 60_000;

export interface Sealer {
  seal(purpose: string, text: string): string;
  open(purpose: string, sealed: string): string | null;
}

export class FlowCookies {
  readonly #sealer: Sealer;

  constructor(sealer: Sealer) {
    this.#sealer = sealer;
  }

  /** `round` counts the tries of one login; it is at the end of the state because it must survive a browser that keeps no cookie. */
  newState(round: number): string {
    return `${randomBytes(32).toString('base64url')}.${Math.min(round, 9)}`;
  }

  /** Cookies to set: the new flow, and the oldest ones cleared that no longer fit beside it. */
  start(lines: readonly string[], flow: Flow): readonly string[] {
    const name = nameOf(flow.state);
    const value = `${MARK}${this.#sealer.seal('login-flow', JSON.stringify(flow))}`;
    const others = markedCookies(lines, MARK)
      .filter((cookie) => cookie.name.startsWith(NAME_PREFIX))
      .map((cookie) => ({ ...cookie, startedAtMs: this.#read(cookie.value)?.startedAtMs ?? 0 }))
      .sort((a, b) => b.startedAtMs - a.startedAtMs);
    let bytes = value.length;
    const dropped = others.filter((cookie, at) => {
      bytes += cookie.value.length;
      return at >= MAX_FLOWS - 1 || bytes > MAX_FLOW_BYTES || cookie.startedAtMs === 0;
    });
    return [setCookie(name, value, COOKIE_SECONDS), ...dropped.map((cookie) => clearCookie(cookie.name))];
  }

  /** The flow that a callback's state belongs to; null when this browser did not start it. */
  find(lines: readonly string[], state: string): Flow | null {
    if (!STATE.test(state)) return null;
    for (const value of cookieValues(lines, nameOf(state))) {
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

/** When no server accepts the flow, whichever way its clock is wrong. */
export function flowEndsAtMs(flow: Flow): number {
  return flow.startedAtMs + 2 * MAX_AGE_MS;
}

/** Which try of a login a state belongs to. */
export function roundOf(state: string): number {
  return STATE.test(state) ? Number(state.slice(-1)) : 0;
}

/**
 * Stands for the provider, client and scopes of a login. The fields themselves can be longer than the 4 KB that browsers take for a
 * cookie; and a login that is no longer asked for like this has to begin anew in any case.
 */
export function askedFor(config: {
  readonly issuer: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
}): string {
  const { issuer, clientId, scopes } = config;
  return hash('sha256', JSON.stringify([issuer, clientId, scopes]), 'base64url');
}

function nameOf(state: string): string {
  return `${NAME_PREFIX}${state.slice(0, 16)}`;
}
