import type { SealedEvent } from './sealed-write-set.ts';
import type { Program } from './statement.ts';
import { WriteGroup } from './write-group.ts';

/** Events without a change. Only what somebody wants is kept: nothing else would ever take the rest away. */
export function* recordEvents(events: readonly SealedEvent[]): Program<number> {
  const group = new WriteGroup();
  const wanted = yield* group.wanted(events);
  yield* group.enqueue(wanted, 0);
  yield* group.flush();
  return wanted.length;
}
