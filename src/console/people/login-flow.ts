import { randomBytes } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import { cookieValues } from '../../lib/http/cookie-header.ts';
import type { Store } from '../../store/store.ts';
import { consoleErrors } from '../errors.ts';
import type { LoginStart } from './people-provider.ts';

const MAX_AGE_SECONDS = 600;
const NAME = 'postern_console_login';

interface Flow extends LoginStart {
  readonly startedAtMs: number;
}

/** A login in progress, sealed in the browser: a stranger who starts many costs the server nothing. */
export class LoginFlows {
  readonly #store: Pick<Store, 'seal' | 'open'>;
  readonly #clock: Clock;
  readonly #redirectUri: string;
  readonly #isSecure: boolean;

  constructor(store: Pick<Store, 'seal' | 'open'>, clock: Clock, baseUrl: string) {
    this.#store = store;
    this.#clock = clock;
    this.#redirectUri = `${baseUrl}/console/callback`;
    this.#isSecure = baseUrl.startsWith('https:');
  }

  start(): { readonly start: LoginStart; readonly cookie: string } {
    const text = (): string => randomBytes(32).toString('base64url');
    const start = { redirectUri: this.#redirectUri, state: text(), nonce: text(), codeVerifier: text() };
    const flow: Flow = { ...start, startedAtMs: this.#clock.nowMs() };
    const sealed = this.#store.seal('console-login', JSON.stringify(flow));
    return { start, cookie: this.#cookie(sealed, MAX_AGE_SECONDS) };
  }

  /** The login that a callback belongs to: started in this browser, and not long ago. */
  ofCallback(cookies: string | undefined, state: string | null): LoginStart {
    for (const value of cookieValues(cookies === undefined ? [] : [cookies], this.#name)) {
      const text = this.#store.open('console-login', value);
      const flow = text === null ? null : (JSON.parse(text) as Flow);
      if (flow === null || flow.state !== state) continue;
      if (this.#clock.nowMs() - flow.startedAtMs <= MAX_AGE_SECONDS * 1000) return flow;
    }
    throw consoleErrors.create(
      'ERR_POSTERN_CONSOLE_LOGIN',
      'this login was not started in this browser, or more than ten minutes ago: log in again',
    );
  }

  get endedCookie(): string {
    return this.#cookie('', 0);
  }

  get #name(): string {
    return this.#isSecure ? `__Host-${NAME}` : NAME;
  }

  /** Lax: the provider's redirect comes from another site. */
  #cookie(value: string, maxAgeSeconds: number): string {
    const secure = this.#isSecure ? '; Secure' : '';
    return `${this.#name}=${value}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Lax${secure}`;
  }
}
