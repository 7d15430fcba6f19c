import type { IdentityPeople } from '../contracts/identity-people.ts';
import type { IdentitySessions } from '../contracts/identity-sessions.ts';
import type { RelyingParty } from '../passkeys/ceremony.ts';
import type { Challenges } from '../passkeys/challenges.ts';

/** What the pages of the identity host use. */
export interface PagePorts {
  readonly party: RelyingParty;
  readonly clock: { nowMs(): number };
  readonly people: IdentityPeople;
  readonly sessions: IdentitySessions;
  readonly challenges: Challenges;
  /** Failures per address and network: passkeys that are refused, and invitations and codes that are guessed. */
  readonly attempts: AttemptLimits;
  /** Where people log in to the console with their account; null: they do so at another provider. */
  readonly consoleUrl: string | null;
  /** Whether the login page offers codes by e-mail. */
  readonly offersCodes: boolean;
  readonly log: { info(fields: object, message: string): void; warn(fields: object, message: string): void };
  seal(purpose: string, text: string): string;
  open(purpose: string, sealed: string): string | null;
  randomText(bytes: number): string;
  /** Whether the store was only away for a while: neither a bug nor a fault of the request. */
  isStoreOutage(error: unknown): boolean;
}

/** How often people at one address or in one network may fail. */
export interface AttemptLimits {
  begin(clientAddress: string): Attempt | { readonly retryAfterSeconds: number };
}

/** It counts unless it succeeds. */
export interface Attempt {
  succeeded(): void;
  failed(): void;
}
