import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cleanup } from '../support/cleanup.ts';
import { freshDatabase, type PostgresServer, startPostgres } from '../support/postgres.ts';
import { isLong } from '../support/share-of-cases.ts';
import { eventually, HandoverWorld } from './handover-world.ts';
import { Load } from './load.ts';

// Own process: takes long.

const LONGER_THAN_A_LEASE_MS = 2_000;
const EVENT_FILE = 'audit.ndjson';
/** A process that does not end must fail the test, not hang it. */
const TIMEOUT_MS = 400_000;

suite('a server is replaced under load', { timeout: TIMEOUT_MS }, () => {
  let postgres: PostgresServer | null = null;
  before(async () => {
    postgres = await startPostgres();
  });
  after(() => postgres?.stop());

  test('sqlite: no request fails in handovers, and every acknowledged write is there', async (t) => {
    await replaceUnderLoad(t, await HandoverWorld.open(t), isLong ? 2 : 1);
  });

  test('postgres: no request fails although the process stood still, and every acknowledged write is there', async (t) => {
    const database = await freshDatabase(postgres as PostgresServer);
    t.after(() => database.drop());
    const world = await HandoverWorld.open(t, {
      databaseUrl: database.url,
      // The default port may be another test's.
      env: { POSTERN_PEER_LISTEN: '127.0.0.1:0' },
    });
    const [first] = await readyNodes(world);
    await replaceUnderLoad(t, world, 1, (load) => standStill(world, load));
    assert.ok(world.say('the lease of this node had ended: comparing what it owned with the store').length > 0);
    // Both are nodes meanwhile, each with a port of its own; in the end other nodes find the new one where the old one
    // was.
    for (;;) {
      const nodes = await readyNodes(world);
      const [node] = nodes;
      if (nodes.length === 1 && node?.id !== first?.id && node?.peer_address === first?.peer_address) break;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  });
});

async function replaceUnderLoad(
  t: Cleanup & { diagnostic(text: string): void },
  world: HandoverWorld,
  times: number,
  before: (load: Load) => Promise<void> = async () => {},
): Promise<void> {
  await subscribe(world);
  const load = new Load(world).start();
  t.after(() => load.stop());
  await load.more(20);
  await before(load);
  for (let n = 0; n < times; n += 1) {
    await world.handOver();
    await load.more(20);
  }
  await world.allDrained();
  await load.more(5);
  await load.stop();
  t.diagnostic(JSON.stringify(Object.fromEntries(load.counts)));
  if (load.failures.length > 0) t.diagnostic(world.postern.stdout());
  assert.deepEqual(load.failures, []);
  assert.equal(new Set(world.servers()).size, times + 1);
  const api = world.api();
  t.after(async () => api.close());
  for (const id of load.written) assert.equal((await api.send('GET', `/ip_policies/${id}`)).status, 200, id);
  // At least once each: the last process delivers what is left.
  const missing = (): readonly string[] => {
    const delivered = deliveredIds(world);
    return load.written.filter((id) => !delivered.has(id));
  };
  await eventually(() => missing().length === 0);
}

/** As on an overloaded machine: its lease ends meanwhile, and it renews it while visitors wait. */
async function standStill(world: HandoverWorld, load: Load): Promise<void> {
  process.kill(world.pid, 'SIGSTOP');
  await sleep(LONGER_THAN_A_LEASE_MS);
  process.kill(world.pid, 'SIGCONT');
  await load.more(20);
}

/** Every created policy is reported to a file. */
async function subscribe(world: HandoverWorld): Promise<void> {
  const api = world.api();
  const destination = await api.send('POST', '/event_destinations', { target: { file: { name: EVENT_FILE } } });
  const subscription = await api.send('POST', '/event_subscriptions', {
    sources: [{ type: 'ip_policy_created.v0' }],
    destination_ids: [destination.body.id],
  });
  assert.deepEqual([destination.status, subscription.status], [201, 201]);
  api.close();
}

function deliveredIds({ dataDir }: HandoverWorld): ReadonlySet<string> {
  const lines = readFileSync(join(dataDir, 'events', EVENT_FILE), 'utf8')
    .trimEnd()
    .split('\n');
  return new Set(lines.map((line) => JSON.parse(line).object.id as string));
}

async function readyNodes(
  world: HandoverWorld,
): Promise<readonly { readonly id: string; readonly status: string; readonly peer_address: string }[]> {
  const api = world.api();
  try {
    const { body } = await api.send('GET', '/nodes');
    return body.nodes.filter(({ status }: { status: string }) => status === 'ready');
  } finally {
    api.close();
  }
}
