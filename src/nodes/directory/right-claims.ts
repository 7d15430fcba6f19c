import type { Claim } from './announcement.ts';

/** True: the store confirms this home and epoch. False: the store names another home or epoch. Absent: not asked. */
export type Verdicts = ReadonlyMap<string, boolean>;

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
