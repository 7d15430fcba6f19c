import { randomBytes } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import { hashToken } from '../../lib/text/token-hash.ts';
import type { SignedIn } from '../../resources/console-session-record.ts';

/** Long enough to open another terminal for ssh. */
const LIFETIME_MS = 10 * 60_000;
/** The oldest ends: a key that makes links over and over must not fill the memory. */
const MAX_LINKS = 100;

/**
 * Links that sign somebody in to the console, once, with the rights of the API key that made them. They are kept as hashes
 * in the memory of this process: a link is opened at once, at the address for which it was made.
 */
export class SignInLinks {
  readonly #clock: Clock;
  readonly #links = new Map<string, { readonly who: SignedIn; readonly endsAtMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  make(who: SignedIn): { readonly code: string; readonly expiresAt: string } {
    const code = `postern_cl_${randomBytes(32).toString('base64url')}`;
    const endsAtMs = this.#clock.nowMs() + LIFETIME_MS;
    this.#links.set(hashToken(code), { who, endsAtMs });
    for (const hash of this.#links.keys()) {
      if (this.#links.size <= MAX_LINKS) break;
      this.#links.delete(hash);
    }
    return { code, expiresAt: new Date(endsAtMs).toISOString() };
  }

  /** Null: it is unknown, too old, or was used. */
  take(code: string): SignedIn | null {
    const hash = hashToken(code);
    const link = this.#links.get(hash);
    this.#links.delete(hash);
    return link !== undefined && link.endsAtMs > this.#clock.nowMs() ? link.who : null;
  }
}
