import type { Identity, Permit } from '../contract/recognizes-requesters.ts';
import type { Grant } from './sessions/grant.ts';

/** Decides whether a stored login still admits a request in progress. */
export interface GrantKeeper {
  isHeld(grant: Grant, nowMs: number): boolean;
  used(grant: Grant, nowMs: number): void;
}

/** A stored login as the permit of a request. */
export class GrantPermit implements Permit {
  readonly module: string;
  readonly grant: Grant;
  readonly #keeper: GrantKeeper;

  constructor(module: string, grant: Grant, keeper: GrantKeeper) {
    this.module = module;
    this.grant = grant;
    this.#keeper = keeper;
  }

  get userId(): string {
    return this.grant.holder.id;
  }

  get version(): number {
    return this.grant.holderVersion;
  }

  get identity(): Identity {
    return this.grant.holder;
  }

  isHeld(nowMs: number): boolean {
    this.grant.heldAtMs = nowMs;
    return this.#keeper.isHeld(this.grant, nowMs);
  }

  touch(nowMs: number): void {
    this.#keeper.used(this.grant, nowMs);
  }
}
