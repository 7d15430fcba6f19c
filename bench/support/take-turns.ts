export interface Turns<Contender, Sample> {
  /** One list per contender, round by round. */
  readonly samples: ReadonlyMap<Contender, readonly Sample[]>;
  /** The longest time that a contender was idle before one of its rounds. */
  readonly longestWaitMs: number;
}

/**
 * Several contenders in short rounds, always in the same order: each is idle only while the others have one round.
 * After eight idle seconds V8 gives memory back, and the next 10,000 requests cost up to twice as much.
 */
export async function takeTurns<Contender, Sample>(
  contenders: readonly Contender[],
  round: (contender: Contender) => Promise<Sample>,
  { rounds, warmUp }: { readonly rounds: number; readonly warmUp: number },
): Promise<Turns<Contender, Sample>> {
  const samples = new Map<Contender, Sample[]>(contenders.map((contender) => [contender, []]));
  const endedAtMs = new Map<Contender, number>();
  let longestWaitMs = 0;
  for (let at = 0; at < warmUp + rounds; at += 1) {
    for (const contender of contenders) {
      const startedAtMs = performance.now();
      const waitedMs = startedAtMs - (endedAtMs.get(contender) ?? startedAtMs);
      const sample = await round(contender);
      endedAtMs.set(contender, performance.now());
      if (at < warmUp) continue;
      longestWaitMs = Math.max(longestWaitMs, waitedMs);
      samples.get(contender)?.push(sample);
    }
  }
  return { samples, longestWaitMs };
}
