import { createHmac, randomBytes } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';
import { isSameSecret } from '../lib/text/is-same-secret.ts';
import { LOCAL_CALLER, type Principal } from '../resources/operation.ts';

const PREFIX = 'postern_lo_';
/** Commands that run longer get another one. */
const LIFETIME_MS = 5 * 60_000;

export interface LocalToken {
  readonly token: string;
  /** In the history of changes. */
  readonly name: string;
  readonly expiresAtMs: number;
}

export interface LocalCallersOptions {
  readonly clock: Clock;
  /** Name of this node. */
  readonly node: string;
  /** Null: commands on this machine need an API key. */
  readonly scopes: readonly string[] | null;
}

/**
 * Tokens for commands that the user of the server runs on its machine. The control socket gives them out. Nothing is stored: a token
 * is signed with a key that only this process knows, so no other node accepts it, and it ends with the process.
 */
export class LocalCallers {
  readonly #key = randomBytes(32);
  readonly #clock: Clock;
  readonly #principal: Principal | null;

  constructor({ clock, node, scopes }: LocalCallersOptions) {
    this.#clock = clock;
    this.#principal = scopes === null ? null : { apiKeyId: `${LOCAL_CALLER}${node}`, scopes };
  }

  /** Null: the setting `local_commands` is off. */
  issue(): LocalToken | null {
    if (this.#principal === null) return null;
    const expiresAtMs = this.#clock.nowMs() + LIFETIME_MS;
    const signed = `${expiresAtMs.toString(36)}.${randomBytes(16).toString('base64url')}`;
    return { token: `${PREFIX}${signed}.${this.#signature(signed)}`, name: this.#principal.apiKeyId, expiresAtMs };
  }

  find(token: string): Principal | null {
    if (!token.startsWith(PREFIX)) return null;
    const end = token.lastIndexOf('.');
    const signed = token.slice(PREFIX.length, end);
    if (!isSameSecret(token.slice(end + 1), this.#signature(signed))) return null;
    const expiresAtMs = Number.parseInt(signed, 36);
    return expiresAtMs > this.#clock.nowMs() ? this.#principal : null;
  }

  #signature(text: string): string {
    return createHmac('sha256', this.#key).update(text).digest('base64url');
  }
}
