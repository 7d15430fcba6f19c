import { after, suite, test } from 'node:test';
import { EdgeTable, everyRow, TRANSPORTS } from '../access/edge-table.ts';

suite('the decision table through the edge, each row over each transport', async () => {
  const table = await EdgeTable.open({ after });
  for (const isEnforced of [true, false]) {
    for (const transport of TRANSPORTS) {
      test(`${isEnforced ? 'enforced' : 'rehearsed'} over ${transport}`, async () => {
        await table.enforce(isEnforced);
        for (const { at, row } of everyRow()) await table.check(at, row, transport, { isEnforced });
      });
    }
  }
});
