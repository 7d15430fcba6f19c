import { guarded, type ListenerOwner } from '../../lib/guarded-listeners.ts';

/** Longer than a node needs to renew a lease that ended while it stood still, or to take over the sessions of a lost one. */
const PATIENCE_MS = 2_000;
const LOOK_EVERY_MS = 25;

interface AwaitedRight {
  /** Whether only the right to serve the name is missing. */
  isMissing(): boolean;
  /** False: there is still no way to the agent. */
  attempt(): boolean;
  giveUp(): void;
}

/**
 * A visitor waits for a moment while this node may not serve names of agents: most nodes regain the right as soon as the
 * database answers. Nothing is sent without it. Returns what ends the wait.
 */
export function awaitRight(owner: ListenerOwner, right: AwaitedRight): () => void {
  // Looks, not time: a process that stands still again must not give up before it has read the database's answer.
  let looksLeft = PATIENCE_MS / LOOK_EVERY_MS;
  const look = guarded(owner, () => {
    if (right.attempt()) return;
    looksLeft -= 1;
    if (right.isMissing() && looksLeft > 0) timer = setTimeout(look, LOOK_EVERY_MS);
    else right.giveUp();
  });
  let timer = setTimeout(look, LOOK_EVERY_MS);
  return () => clearTimeout(timer);
}
