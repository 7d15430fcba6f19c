import { WriteGroup } from '../commits/write-group.ts';
import type { SealedEvent } from '../sealing/sealed-write-set.ts';
import type { Program } from '../statements/statement.ts';

/** Events without a change. Only wanted ones are kept: nothing would ever delete the rest. */
export function* recordEvents(events: readonly SealedEvent[]): Program<number> {
  const group = new WriteGroup();
  const wanted = yield* group.wanted(events);
  yield* group.enqueue(wanted, 0);
  yield* group.flush();
  return wanted.length;
}
