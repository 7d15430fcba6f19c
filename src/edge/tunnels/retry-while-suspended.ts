import { guarded, type ListenerOwner } from '../../lib/guarded-listeners.ts';

/** Longer than a node needs to renew a lease that ended while it stood still, or to take over the sessions of a lost one. */
const RETRY_FOR_MS = 2_000;
const LOOK_EVERY_MS = 25;

interface Awaited {
  /** Whether a way to the agent may open in a moment. */
  isSuspended(): boolean;
  /** False: there is still no way to the agent. */
  attempt(): boolean;
  giveUp(): void;
}

/**
 * A visitor waits for a moment while nobody may serve the name of an agent: most nodes regain the right as soon as the
 * database answers, and take over the sessions of a lost one. Nothing is sent without the right.
 */
export class RetryWhileSuspended {
  // Looks, not time: a process that stands still again must not give up before it has read the database's answer.
  #looksLeft = RETRY_FOR_MS / LOOK_EVERY_MS;
  #timer: NodeJS.Timeout | null = null;
  #attemptedAtMs: number | null = null;

  /** Ends with an attempt that succeeds, or gives up. After an attempt it can be called again, for the rest of the time. */
  await(owner: ListenerOwner, awaited: Awaited): void {
    // An agent that lets each attempt wait must not prolong the whole.
    if (this.#attemptedAtMs !== null) this.#looksLeft -= (performance.now() - this.#attemptedAtMs) / LOOK_EVERY_MS;
    const look = guarded(owner, () => {
      this.#attemptedAtMs = performance.now();
      if (this.#looksLeft > 0 && awaited.attempt()) return;
      this.#looksLeft -= 1;
      if (awaited.isSuspended() && this.#looksLeft > 0) this.#timer = setTimeout(look, LOOK_EVERY_MS);
      else awaited.giveUp();
    });
    this.#timer = setTimeout(look, LOOK_EVERY_MS);
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
  }
}
