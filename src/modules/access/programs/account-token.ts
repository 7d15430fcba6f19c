import type { Identity, Permit } from '../../contract/recognizes-requesters.ts';
import type { TrafficRequest } from '../../contract/traffic-request.ts';
import { SentByHost } from '../../login/identity/sent-by-host.ts';
import type { SentIdentity } from '../../login/identity/upstream-identity.ts';
import type { UpstreamUser } from '../../login/identity/upstream-user.ts';
import type { ProgramPermit } from './program-permit.ts';

/** A service account in memory, changed in place so that requests under its tokens see it. */
export class ServiceAccount {
  readonly id: string;
  isActive = false;
  version = 0;
  identity: Identity;

  constructor(id: string) {
    this.id = id;
    this.identity = identityOf(id, '');
  }

  update({ name, isActive }: { readonly name: string; readonly isActive: boolean }): void {
    this.isActive = isActive;
    if (name === this.identity.name) return;
    this.identity = identityOf(this.id, name);
    this.version += 1;
  }
}

function identityOf(id: string, name: string): Identity {
  return { kind: 'service_account', id, email: '', isEmailVerified: false, name, claims: {}, droppedClaims: [] };
}

/** `unknown`: it may have been revoked at another node. */
export type TokenState = 'valid' | 'deleted' | 'expired' | 'inactive' | 'unknown';

/**
 * A token of a service account, and the permit of every request that carries it. It ends when the token is deleted or
 * expires, or when its account is deactivated.
 */
export class AccountToken implements ProgramPermit {
  readonly module = 'access';
  readonly id: string;
  readonly hash: string;
  readonly account: ServiceAccount;
  readonly #used: (token: AccountToken) => void;
  readonly #isCurrent: () => boolean;
  readonly #sent = new SentByHost();
  expiresAtMs: number;
  isDeleted = false;
  /** When it was last used here; 0: never. */
  usedAtMs = 0;

  constructor(
    facts: Pick<AccountToken, 'id' | 'hash' | 'account' | 'expiresAtMs'>,
    used: (token: AccountToken) => void,
    isCurrent: () => boolean = () => true,
  ) {
    this.id = facts.id;
    this.hash = facts.hash;
    this.account = facts.account;
    this.expiresAtMs = facts.expiresAtMs;
    this.#used = used;
    this.#isCurrent = isCurrent;
  }

  get userId(): string {
    return this.account.id;
  }

  get identity(): Identity {
    return this.account.identity;
  }

  get version(): Permit['version'] {
    return this.account.version;
  }

  state(nowMs: number): TokenState {
    if (this.isDeleted) return 'deleted';
    if (!this.account.isActive) return 'inactive';
    if (!this.#isCurrent()) return 'unknown';
    // NaN, from a record that cannot be read, is not later than anything.
    return this.expiresAtMs > nowMs ? 'valid' : 'expired';
  }

  isHeld(nowMs: number): boolean {
    return this.state(nowMs) === 'valid';
  }

  touch(nowMs: number): void {
    this.usedAtMs = nowMs;
    this.#used(this);
  }

  sentTo(request: TrafficRequest, make: (known: SentIdentity | null) => SentIdentity): SentIdentity {
    return this.#sent.get(request.authority, this.version, make);
  }

  upstreamUser(): Omit<UpstreamUser, 'origin' | 'host'> {
    const { id, name } = this.identity;
    return {
      kind: 'service_account',
      id,
      name,
      email: null,
      claims: {},
      sessionId: this.id,
      provider: 'postern:service_account',
      subject: id,
    };
  }
}
