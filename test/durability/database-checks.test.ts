import assert from 'node:assert/strict';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { formatListenAddress } from '../../src/kit/net/listen-address.ts';
import type { StoreLocation } from '../../src/store/offline-database.ts';
import { querySql } from '../store/engines.ts';
import { ApiConnection } from '../support/api-connection.ts';
import { Random } from '../support/random.ts';
import { tempDir } from '../support/temp-dir.ts';
import { TEST_API_KEY, TestWorld } from '../support/test-world.ts';
import { checkDatabase } from './database-checks.ts';
import { Ledger } from './ledger.ts';
import { BASE_URL } from './module-writes.ts';
import { observe } from './observe.ts';
import { setUpWorld } from './set-up-world.ts';
import { newWriterLog, Writer } from './writer.ts';

const damages: readonly { readonly title: string; readonly sql: string; readonly found: RegExp }[] = [
  {
    title: 'a revision without its change rows',
    sql: 'DELETE FROM changes WHERE revision = (SELECT max(revision) - 5 FROM changes)',
    found: /revisions have a gap/,
  },
  {
    title: 'a counter that is behind',
    sql: "UPDATE counter SET value = value - 1 WHERE name = 'revision'",
    found: /the counter stands at/,
  },
  {
    title: 'a change without its event',
    sql: 'DELETE FROM events WHERE revision = (SELECT max(revision) FROM events)',
    found: /has the events \[\]/,
  },
  {
    title: 'an event of another resource',
    sql: `UPDATE events SET payload = '{"object":{"id":"x"}}' WHERE revision = (SELECT max(revision) FROM events)`,
    found: /has the events \[.* x\]/,
  },
  {
    title: 'an event without its change',
    sql: 'UPDATE events SET revision = revision + 1000 WHERE revision = (SELECT max(revision) FROM events)',
    found: /events of revision \d+, which does not exist/,
  },
  {
    title: 'a record that went without a change',
    sql: "DELETE FROM records WHERE kind = 'certificate_authority' AND id = (SELECT max(id) FROM records WHERE kind = 'certificate_authority')",
    found: /is missing, but the changes have it/,
  },
  {
    title: 'a deleted record that came back',
    sql: `INSERT INTO records (kind, id, parent, revision, doc) VALUES ('ip_policy', 'ipp_${'0'.repeat(27)}', NULL, 3, '{}')`,
    found: /exists, but the changes do not have it/,
  },
  {
    title: 'a record with the revision of an earlier write',
    sql: "UPDATE records SET revision = revision - 1 WHERE kind = 'event_destination'",
    found: /has revision \d+, and by the changes \d+/,
  },
  {
    title: 'a route whose edge is gone',
    sql: "DELETE FROM records WHERE kind = 'https_edge' AND id IN (SELECT parent FROM records WHERE kind = 'https_edge_route')",
    found: /https_edge_route \S+ has lost its parent/,
  },
  {
    title: 'a reference that leads nowhere',
    sql: "DELETE FROM records WHERE kind = 'event_destination'",
    found: /reference event_subscription \S+ → event_destination \S+ leads nowhere/,
  },
  {
    title: 'a reference row that is missing',
    sql: "DELETE FROM record_references WHERE to_kind = 'event_destination'",
    found: /has no reference row/,
  },
  {
    title: 'a host that nobody holds',
    sql: "DELETE FROM unique_keys WHERE scope = 'edge_host'",
    found: /unique key edge_host \S+ of https_edge \S+ is missing/,
  },
  {
    title: 'a host that is held for nothing',
    sql: "UPDATE unique_keys SET key = key || '.x' WHERE scope = 'edge_host'",
    found: /unique key edge_host \S+\.x of \S+ \S+ is not in its document/,
  },
  {
    title: 'an Idempotency-Key without its resource',
    sql: `INSERT INTO idempotency (scope, body_hash, kind, id, created_at_ms) VALUES ('s', 'h', 'ip_policy', 'ipp_x', 1)`,
    found: /an Idempotency-Key names ip_policy ipp_x, never made/,
  },
];

/** The checks of the kill test must detect damage: here it is done by hand. */
test('the checks of the tables', async (t) => {
  const dataDir = await tempDir(t);
  const { subscribedFrom } = await fillStore(t, dataDir);

  await t.test('accept what the server wrote', async (each) => {
    const { problems, revision } = await checkDatabase(await copyOfStore(each, dataDir), { subscribedFrom });
    assert.deepEqual(problems, []);
    assert.ok(revision > 200);
  });

  for (const { title, sql, found } of damages) {
    await t.test(`detect ${title}`, async (each) => {
      const location = await copyOfStore(each, dataDir);
      await querySql(location, sql);
      const { problems } = await checkDatabase(location, { subscribedFrom });
      assert.match(problems.join('\n'), found);
    });
  }
});

async function fillStore(t: TestContext, dataDir: string): Promise<{ readonly subscribedFrom: number }> {
  const world = await TestWorld.open(t, { dataDir, env: { POSTERN_API_URL: BASE_URL } });
  const api = new ApiConnection(formatListenAddress(world.server.addresses.api), TEST_API_KEY);
  const ledger = new Ledger();
  const { revision } = await setUpWorld(api, ledger);
  const log = newWriterLog();
  const stop = new AbortController();
  const writers = [0, 1, 2, 3].map((n) => new Writer({ name: `w${n}`, ledger, random: new Random(n), log }));
  const running = Promise.all(writers.map((writer) => writer.run(api, stop.signal)));
  while (log.acknowledged.length < 250) await sleep(10);
  stop.abort();
  await running;
  assert.deepEqual(log.problems, []);
  assert.deepEqual(ledger.settle(await observe(api)).problems, []);
  api.close();
  await world.close();
  return { subscribedFrom: revision };
}

async function copyOfStore(t: TestContext, dataDir: string): Promise<StoreLocation> {
  const copy = join(await tempDir(t), 'copy');
  await cp(dataDir, copy, { recursive: true });
  return { engine: 'sqlite', dataDir: copy };
}
