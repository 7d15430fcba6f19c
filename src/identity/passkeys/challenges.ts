import { hash } from 'node:crypto';

/** A person may look for a security key meanwhile. */
const VALID_MS = 10 * 60_000;
/** Clocks of nodes differ. */
const SKEW_MS = 60_000;
const SEAL_PURPOSE = 'identity-challenge';

/** What a passkey's answer is good for: an answer for one purpose is refused for every other. */
export type ChallengePurpose = 'sign_in' | 'confirm' | 'add_passkey' | 'accept_invitation';

export interface ChallengeScope {
  readonly purpose: ChallengePurpose;
  /** The browser that asked for it. */
  readonly browser: string;
  /** Account of the session or the invitation; empty when a person logs in. */
  readonly accountId: string;
}

/** A challenge that was answered, and not used before as far as is known here. */
export interface AnsweredChallenge {
  readonly key: string;
  readonly validUntilMs: number;
}

export interface ChallengePorts {
  readonly clock: { nowMs(): number };
  seal(purpose: string, text: string): string;
  open(purpose: string, sealed: string): string | null;
  randomText(bytes: number): string;
  /** True for one caller across all processes. */
  claimOnce(key: string, untilMs: number): Promise<boolean>;
}

interface Sealed {
  readonly purpose: string;
  readonly browser: string;
  readonly account: string;
  readonly until: number;
  readonly nonce: string;
}

/**
 * Challenges of passkeys. A challenge is the sealed text that says what it is for, so that nothing is stored for visitors
 * and any node checks the answer. Once a person has proved who they are with it, the store remembers that it is spent.
 */
export class Challenges {
  readonly #ports: ChallengePorts;

  constructor(ports: ChallengePorts) {
    this.#ports = ports;
  }

  issue({ purpose, browser, accountId }: ChallengeScope): string {
    const sealed: Sealed = {
      purpose,
      browser: fingerprint(browser),
      account: accountId,
      until: this.#ports.clock.nowMs() + VALID_MS,
      nonce: this.#ports.randomText(16),
    };
    return this.#ports.seal(SEAL_PURPOSE, JSON.stringify(sealed));
  }

  /** The challenge of an answer, as the browser encodes it. Null: it is not ours, or for something else. */
  check(encoded: string, { purpose, browser, accountId }: ChallengeScope): AnsweredChallenge | 'expired' | null {
    const text = this.#ports.open(SEAL_PURPOSE, Buffer.from(encoded, 'base64url').toString('latin1'));
    if (text === null) return null;
    const sealed = JSON.parse(text) as Sealed;
    if (sealed.purpose !== purpose || sealed.account !== accountId || sealed.browser !== fingerprint(browser))
      return null;
    if (this.#ports.clock.nowMs() > sealed.until + SKEW_MS) return 'expired';
    return { key: `passkey-challenge:${hash('sha256', sealed.nonce)}`, validUntilMs: sealed.until + 2 * SKEW_MS };
  }

  /** True for the first answer only. */
  spend({ key, validUntilMs }: AnsweredChallenge): Promise<boolean> {
    return this.#ports.claimOnce(key, validUntilMs);
  }
}

/** The browser's secret itself is not in what it receives. */
function fingerprint(browser: string): string {
  return hash('sha256', browser, 'base64url');
}
