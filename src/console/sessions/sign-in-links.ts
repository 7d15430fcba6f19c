import { randomBytes } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import { isSameSecret } from '../../lib/text/is-same-secret.ts';
import { hashToken } from '../../lib/text/token-hash.ts';
import { newCode, shownCode, typedCode } from '../../lib/text/typed-code.ts';
import type { SignedIn } from '../../resources/console-session-record.ts';

/** Long enough to open another terminal for ssh. */
const LIFETIME_MS = 10 * 60_000;
/** The oldest ends: a key that makes links over and over must not fill the memory. */
const MAX_LINKS = 100;

/** Wrong codes, after which the link ends. */
const MAX_TRIES = 5;

interface Link {
  readonly who: SignedIn;
  readonly endsAtMs: number;
  readonly codeHash: string;
  tries: number;
}

export interface MadeLink {
  readonly id: string;
  /** As people read it. */
  readonly code: string;
  readonly expiresAt: string;
}

/**
 * Links that log somebody in to the console, once, with the rights of the API key that made them. Every user of a machine
 * can read the arguments of a browser that somebody else starts, so a link alone opens a page that asks for its code, which
 * the terminal shows. Links are kept as hashes in the memory of this process: a link is opened at once, at the address for which it was made.
 */
export class SignInLinks {
  readonly #clock: Clock;
  readonly #links = new Map<string, Link>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  make(who: SignedIn): MadeLink {
    const [id, code] = [`postern_cl_${randomBytes(32).toString('base64url')}`, newCode()];
    const endsAtMs = this.#clock.nowMs() + LIFETIME_MS;
    this.#links.set(hashToken(id), { who, endsAtMs, codeHash: codeHash(id, code), tries: 0 });
    for (const hash of this.#links.keys()) {
      if (this.#links.size <= MAX_LINKS) break;
      this.#links.delete(hash);
    }
    return { id, code: shownCode(code), expiresAt: new Date(endsAtMs).toISOString() };
  }

  /** Whether a code may still be typed: the link is known, not used, and not too old. */
  isOpen(id: string): boolean {
    const link = this.#links.get(hashToken(id));
    return link !== undefined && link.endsAtMs > this.#clock.nowMs();
  }

  /** Null: the code is wrong, or the link is not open. */
  take(id: string, typed: string): SignedIn | null {
    const link = this.#links.get(hashToken(id));
    if (link === undefined || !this.isOpen(id)) return null;
    const isRight = isSameSecret(codeHash(id, typedCode(typed)), link.codeHash);
    link.tries += 1;
    if (isRight || link.tries >= MAX_TRIES) this.#links.delete(hashToken(id));
    return isRight ? link.who : null;
  }
}

/** With the id, so that a code is only good for its link. */
function codeHash(id: string, code: string): string {
  return hashToken(`${id} ${code}`);
}
