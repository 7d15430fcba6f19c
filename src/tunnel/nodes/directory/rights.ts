import { reportBug } from '../../../kit/guarded-listeners.ts';
import type { NodeStore } from '../../../store/node-store.ts';
import type { AnnouncedSession, Claim } from './announced.ts';

/** True: the store confirms this home and epoch. False: the store names another home or epoch. Absent: not asked. */
type Verdicts = ReadonlyMap<string, boolean>;

export interface RightClaims {
  /** Claims with the right home and epoch. The claim of the home comes first, then the claims of other holders. */
  readonly counted: readonly Claim[];
  readonly refused: readonly Claim[];
  /** The claim that the store must decide about. */
  readonly unclear: Claim | null;
}

export const NONE_RIGHT: RightClaims = { counted: [], refused: [], unclear: null };

/**
 * Decides which claims about one session are right. The claim with the highest epoch is right, unless the store refutes
 * it. While two homes contradict each other, the store is asked and the earlier decision counts: otherwise a node could
 * take over any session by announcing a high epoch. Without a store to ask, the highest epoch decides.
 */
export function rightClaims(
  claims: readonly Claim[],
  before: RightClaims,
  verdicts: Verdicts | null,
  canAsk: boolean,
): RightClaims {
  const possible = verdicts === null ? claims : claims.filter((claim) => verdicts.get(variantOf(claim)) !== false);
  const [first] = possible;
  if (first === undefined) return { counted: [], refused: claims, unclear: null };
  const best = bestOf(possible, first);
  const isOpen = canAsk && verdicts?.get(variantOf(best)) !== true;
  const rival = isOpen ? possible.find((claim) => isHome(claim) && !isSameVariant(claim, best)) : undefined;
  if (rival === undefined) return split(claims, possible, best, null);
  const [former] = before.counted;
  const incumbent = former && possible.find((claim) => isSameVariant(claim, former) && isHome(claim));
  return split(claims, possible, incumbent ?? best, best);
}

export function variantOf({ session }: Claim): string {
  return `${session.epoch} ${session.homeNodeId}`;
}

function split(claims: readonly Claim[], possible: readonly Claim[], right: Claim, unclear: Claim | null): RightClaims {
  const agreeing = possible.filter((claim) => isSameVariant(claim, right));
  const home = agreeing.find(isHome);
  const holders = home?.session.holders;
  const counted = agreeing.filter(
    (claim) => claim === home || holders === undefined || holders.includes(claim.by.nodeId),
  );
  if (home !== undefined && counted[0] !== home) counted.sort((a, b) => Number(b === home) - Number(a === home));
  if (counted.length === claims.length) return { counted, refused: [], unclear };
  return { counted, refused: claims.filter((claim) => !counted.includes(claim)), unclear };
}

function isHome({ by, session }: Claim): boolean {
  return by.nodeId === session.homeNodeId;
}

function isSameVariant(a: Claim, b: Claim): boolean {
  return a.session.epoch === b.session.epoch && a.session.homeNodeId === b.session.homeNodeId;
}

function bestOf(claims: readonly Claim[], first: Claim): Claim {
  let best = first;
  for (const claim of claims) if (isBefore(claim, best)) best = claim;
  return best;
}

/** Ties have the same outcome on every node. */
function isBefore(a: Claim, b: Claim): boolean {
  if (a.session.epoch !== b.session.epoch) return a.session.epoch > b.session.epoch;
  if (isHome(a) !== isHome(b)) return isHome(a);
  return a.session.homeNodeId < b.session.homeNodeId;
}

/** Decides between nodes that contradict each other. Methods reject when the store cannot be asked. */
export interface Rights {
  /** Whether the store has the session with this home and epoch. */
  isRight(session: AnnouncedSession): Promise<boolean>;
  /** Id of the session that has the name or port; null: none. */
  nameOwner(key: string): Promise<string | null>;
}

export function storedRights(nodes: Pick<NodeStore, 'getSession' | 'getClaim'>): Rights {
  return {
    isRight: async ({ id, homeNodeId, epoch }) => {
      const stored = await nodes.getSession(id);
      return stored !== null && stored.nodeId === homeNodeId && stored.epoch === epoch;
    },
    nameOwner: async (key) => (await nodes.getClaim(claimKeyOf(key)))?.sessionId ?? null,
  };
}

/** A host has one owner on both listeners. */
function claimKeyOf(key: string): string {
  return key.replace(/^(?:tls|plain) /, 'name ');
}

/** A node that contradicts other nodes all the time must not occupy the store. */
const MAX_WAITING = 1_000;
const RETRY_MS = 2_000;

/** Questions that only the store can answer, one at a time. A question that rejects is asked again later. */
export class OwnershipDisputes {
  readonly #waiting = new Map<string, () => Promise<void>>();
  #isAsking = false;
  #isClosed = false;

  ask(about: string, question: () => Promise<void>): void {
    if (this.#isClosed || (!this.#waiting.has(about) && this.#waiting.size >= MAX_WAITING)) return;
    this.#waiting.set(about, question);
    if (!this.#isAsking)
      this.#askAll().catch((error: unknown) => reportBug(error, { part: 'ownership disputes between nodes' }));
  }

  close(): void {
    this.#isClosed = true;
    this.#waiting.clear();
  }

  async #askAll(): Promise<void> {
    this.#isAsking = true;
    for (const [about, question] of this.#waiting) {
      const isAnswered = await question().then(
        () => true,
        () => false,
      );
      if (isAnswered && this.#waiting.get(about) === question) this.#waiting.delete(about);
    }
    this.#isAsking = false;
    if (this.#waiting.size === 0 || this.#isClosed) return;
    // The store is away: earlier decisions count until the store answers.
    setTimeout(() => {
      const [next] = this.#waiting;
      if (next !== undefined) this.ask(...next);
    }, RETRY_MS).unref();
  }
}
