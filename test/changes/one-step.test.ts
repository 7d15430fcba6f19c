import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { until } from '../support/cluster.ts';
import { EdgeWorld, newHost } from '../support/edge-world.ts';
import { freshDatabase, startPostgres } from '../support/postgres.ts';
import { isLong } from '../support/share-of-cases.ts';

const postgres = await startPostgres();
after(() => postgres.stop());

const OPERATIONS = isLong ? 1_000 : 200;
const idOf = (operation: number): string => `$\{${operation}.id}`;

for (const engine of ['sqlite', 'postgres'] as const) {
  suite(`a changeset of ${OPERATIONS} operations on ${engine}`, async () => {
    const databaseUrl = engine === 'postgres' ? (await freshDatabase(postgres)).url : undefined;
    const env = { POSTERN_ROLES: 'api,edge,events' };
    const world = await EdgeWorld.open({ after }, env, databaseUrl === undefined ? {} : { databaseUrl });
    const [first, last] = [newHost(), newHost()];
    const site = (host: string, at: number) => [
      { method: 'POST', path: '/backends/http_response', body: { body: '0' } },
      { method: 'POST', path: '/edges/https', body: { hostports: [`${host}:443`] } },
      {
        method: 'POST',
        path: `/edges/https/${idOf(at + 1)}/routes`,
        body: { match: '/', match_type: 'path_prefix', backend: { backend_id: { $ref: at, field: 'id' } } },
      },
    ];
    const { results } = await world.api('POST', '/changesets', { operations: [...site(first, 0), ...site(last, 3)] });
    const [one, other] = [results[0].body.id, results[3].body.id];
    const destination = await world.api('POST', '/event_destinations', { target: { file: { name: 'x' } } });
    const subscription = await world.api('POST', '/event_subscriptions', {
      destination_ids: [destination.id],
      sources: [{ type: 'https_edge_created.v0' }, { type: 'backend_updated.v0' }],
    });

    const shown = async (host: string): Promise<string> => (await world.ask(host, '/')).body.toString();

    test('delivers the events of single writes, and every request sees all of it or nothing', async () => {
      let isOver = false;
      const seen = new Set<string>();
      const visitor = async (): Promise<void> => {
        while (!isOver) {
          const before = await shown(first);
          const then = await shown(last);
          assert.ok(Number(before) <= Number(then), `${before} before ${then}`);
          seen.add(before);
        }
      };
      const visitors = Promise.all([visitor(), visitor()]);
      const name = newHost();
      const made = Array.from({ length: OPERATIONS - 2 }, (_, at) => ({
        method: 'POST',
        path: '/edges/https',
        body: { hostports: [`e${at}.${name}:443`] },
      }));
      const version = (id: string) => ({ method: 'PATCH', path: `/backends/http_response/${id}`, body: { body: '1' } });
      const answer = await world.api('POST', '/changesets', { operations: [version(one), ...made, version(other)] });
      assert.equal(answer.results.length, OPERATIONS);
      assert.deepEqual([await shown(first), await shown(last)], ['1', '1']);
      await until('a visitor saw it', () => seen.has('1'));
      isOver = true;
      await visitors;
      const delivered = async (): Promise<number> => {
        const lanes = await world.world.store.deliveries.ledger();
        const lane = lanes.find(({ subscriptionId }) => subscriptionId === subscription.id);
        return lane?.delivered ?? 0;
      };
      await until('every event is delivered', async () => (await delivered()) >= OPERATIONS, 120_000);
      assert.equal(await delivered(), OPERATIONS);
    });
  });
}
