import { after, suite, test } from 'node:test';
import { shareOfCases } from '../support/share-of-cases.ts';
import { EdgeTable, everyRow, TRANSPORTS, type Transport } from './edge-table.ts';

/** One transport per row, so that every rule set and every person meets each of them; test/long has all of them. */
suite('the decision table through the edge', async () => {
  const table = await EdgeTable.open({ after });
  for (const isEnforced of [true, false]) {
    test(isEnforced ? 'enforced' : 'rehearsed', async () => {
      await table.enforce(isEnforced);
      // A rehearsal admits everybody: a share of the rows shows it.
      for (const { at, row, position } of isEnforced ? everyRow() : shareOfCases(everyRow(), 0, 4)) {
        const transport = TRANSPORTS[(at + position) % TRANSPORTS.length] as Transport;
        await table.check(at, row, transport, { isEnforced });
      }
    });
  }
});
