import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { everything } from './conformance/store-under-test.ts';
import { ENGINES, emptyLocation, openAt, usePostgres } from './engines.ts';
import { spawnStore } from './spawn-store.ts';

usePostgres();

const ROUNDS = process.env['POSTERN_TEST_LONG'] ? 100 : 4;

for (const engine of ENGINES) {
  suite(engine, () => {
    test(`killed ${ROUNDS} times while writing: everything acknowledged is there, nothing is partial`, async (t) => {
      const location = await emptyLocation(t, engine);
      const answered = new Map<string, number>();
      for (let round = 0; round < ROUNDS; round += 1) {
        const process = spawnStore(t, location, 'write');
        await process.line('ok');
        await sleep(20 + Math.random() * 120);
        await process.killed();
        for (const line of process.output.filter((each) => each.startsWith('ok '))) {
          const [, id = '', revision] = line.split(' ');
          answered.set(id, Number(revision));
        }
        const store = await openAt(location);
        const { records, revision } = await everything(store);
        await store.close();
        const edges = new Map(
          records.filter(({ kind }) => kind === 'edge').map((record) => [record.id, record.revision]),
        );
        const routes = new Map(
          records.filter(({ kind }) => kind === 'route').map((record) => [record.id, record.revision]),
        );
        for (const [id, at] of answered) assert.equal(edges.get(id), at, `${id} was acknowledged but is missing`);
        assert.deepEqual(routes, edges, 'one half of a write is missing');
        const revisions = [...edges.values()].sort((one, other) => one - other);
        assert.deepEqual(
          revisions,
          Array.from({ length: revision }, (_, at) => at + 1),
          'revisions have gaps',
        );
      }
      t.diagnostic(`${answered.size} writes were answered`);
    });
  });
}
