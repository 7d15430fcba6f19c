// Own process: measures turns of the event loop.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { TurnMeter } from '../changes/turn-meter.ts';
import { freshDatabase, startPostgres } from '../support/postgres.ts';
import { TEST_API_KEY, TestWorld } from '../support/test-world.ts';

const EDGES = 10_000;
const postgres = await startPostgres();
after(() => postgres.stop());

const EDGE = { POSTERN_ROLES: 'api,edge', POSTERN_EDGE_LISTEN: '127.0.0.1:0', POSTERN_EDGE_HTTP_LISTEN: '127.0.0.1:0' };

for (const [engine, env] of [
  ['sqlite', {}],
  ['postgres', {}],
  // All changes are copied to each worker.
  ['sqlite with eight workers', { ...EDGE, POSTERN_WORKERS: '8' }],
] as const) {
  test(`a changeset of ${2 * EDGES} operations and its undo share the event loop on ${engine}`, async (t) => {
    const databaseUrl = engine === 'postgres' ? (await freshDatabase(postgres)).url : undefined;
    const world = await TestWorld.open(t, { env, ...(databaseUrl !== undefined && { databaseUrl }) });
    const operations = Array.from({ length: EDGES }, (_, at) => [
      { method: 'POST', path: '/edges/https', body: { hostports: [`a${at}.example.com:443`] } },
      { method: 'POST', path: `/edges/https/$\{${2 * at}.id}/routes`, body: { match: '/', match_type: 'path_prefix' } },
    ]).flat();
    let revision = 0;
    for (const [what, path, sent] of [
      ['dry run', () => '/changesets', { operations, dry_run: true }],
      ['change', () => '/changesets', { operations }],
      ['undo', () => `/changes/${revision}/undo`, {}],
    ] as const) {
      const rawBody = JSON.stringify(sent);
      const meter = new TurnMeter();
      const answer = await fetch(`${world.baseUrl}${path()}`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${TEST_API_KEY}`,
          'service-version': '2',
          'content-type': 'application/json',
        },
        body: rawBody,
      });
      // The body is not parsed here: that would be a long turn of its own.
      await answer.bytes();
      const { longestMs, totalMs } = meter.stop();
      t.diagnostic(`${what}: longest turn ${longestMs.toFixed(0)} ms of ${totalMs.toFixed(0)} ms CPU`);
      assert.equal(answer.status, 200);
      assert.ok(longestMs < totalMs / 10, `${what}: ${longestMs} of ${totalMs} ms in one turn`);
      revision = Number(answer.headers.get('postern-revision') ?? 0);
    }
  });
}
