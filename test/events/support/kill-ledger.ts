import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { StoreLocation } from '../../../src/store/offline-database.ts';
import { type ServerUnderFire, startUnderFire } from '../../durability/server-under-fire.ts';
import { querySql } from '../../store/engines.ts';
import { freshDatabase, startPostgres } from '../../support/postgres.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { type Behaviour, Receiver, verify } from './receiver.ts';

export interface KillLedgerOptions {
  readonly engine: 'sqlite' | 'postgres';
  readonly events: number;
  readonly kills: number;
  /** One in this many requests to the flaky lane fails in some way. */
  readonly failEvery: number;
  readonly patienceMs: number;
}

export interface KillLedgerFigures {
  readonly acknowledged: number;
  readonly enqueued: number;
  readonly requests: number;
  readonly checks: number;
  readonly seconds: number;
}

interface LaneRow {
  readonly destination_id: string;
  readonly enqueued: number;
  readonly pending: number;
  readonly delivered: number;
  readonly dead: number;
  readonly cancelled: number;
  readonly pruned: number;
}

const WRITERS = 16;
const ENV = {
  POSTERN_ROLES: 'api,events',
  POSTERN_EVENTS_ALLOW_CIDRS: '127.0.0.0/8',
  POSTERN_EVENTS_TIMEOUT: '1',
  POSTERN_LOG_LEVEL: 'error',
};

/** Writes, kills the server repeatedly meanwhile, and compares what receivers saw with the store. */
export async function runKillLedger(test: TestContext, options: KillLedgerOptions): Promise<KillLedgerFigures> {
  const startedAt = performance.now();
  const location = await locationOf(test, options.engine);
  const receiver = await Receiver.open(test);
  receiver.behave('/flaky', misbehaving(options.failEvery));
  let server = await startUnderFire(test, location, { env: ENV });
  const secrets = await setUp(server, receiver);

  const acknowledged: string[] = [];
  const perKill = Math.ceil(options.events / (options.kills + 1));
  let checks = 0;
  for (let round = 0; round <= options.kills; round += 1) {
    const target = Math.min(options.events, (round + 1) * perKill);
    const writers = startWriting(server, acknowledged);
    while (acknowledged.length < target) await sleep(5);
    if (round === options.kills) {
      await writers.stop();
      break;
    }
    // In the midst of writes: some are answered, some are not.
    await server.killServer();
    await writers.stop();
    await assertBalanced(location);
    checks += 1;
    server = await startUnderFire(test, location, { env: ENV });
  }
  const lanes = await untilDelivered(location, options.patienceMs);
  await server.kill();
  await assertBalanced(location);

  for (const [path, secret] of secrets) await assertReceived(location, receiver, path, secret, acknowledged);
  return {
    acknowledged: acknowledged.length,
    enqueued: lanes.reduce((sum, lane) => sum + Number(lane.enqueued), 0),
    requests: receiver.received.length,
    checks: checks + 1,
    seconds: Math.round((performance.now() - startedAt) / 1000),
  };
}

async function locationOf(test: TestContext, engine: 'sqlite' | 'postgres'): Promise<StoreLocation> {
  const dataDir = join(await tempDir(test), 'data');
  if (engine === 'sqlite') return { engine, dataDir };
  const postgres = await startPostgres();
  const database = await freshDatabase(postgres);
  test.after(async () => {
    await database.drop();
    await postgres.stop();
  });
  return { engine, dataDir, url: database.url };
}

/** Returns the secret of each lane, by its path at the receiver. */
async function setUp({ api }: ServerUnderFire, receiver: Receiver): Promise<Map<string, string>> {
  const secrets = new Map<string, string>();
  for (const path of ['/well', '/flaky']) {
    const { body: destination } = await api.send('POST', '/event_destinations', {
      target: { webhook: { url: receiver.url(path) } },
      description: path,
    });
    secrets.set(path, destination.target.webhook.secret);
    const { status } = await api.send('POST', '/event_subscriptions', {
      sources: [{ type: 'ip_policy_created.v0' }],
      destination_ids: [destination.id],
    });
    assert.equal(status, 201);
  }
  return secrets;
}

/** Until they are stopped, or the server is gone: a write in progress may or may not have been applied. */
function startWriting({ api }: ServerUnderFire, acknowledged: string[]): { stop(): Promise<void> } {
  let isStopped = false;
  const writers = Array.from({ length: WRITERS }, async () => {
    while (!isStopped) {
      const answer = await api.send('POST', '/ip_policies', {}).catch(() => null);
      if (answer === null) return;
      assert.equal(answer.status, 201);
      acknowledged.push(answer.body.id);
    }
  });
  return {
    stop: async () => {
      isStopped = true;
      await Promise.all(writers);
    },
  };
}

/** Resets, 500, 429 with Retry-After, silence, and slow responses, one after the other. */
function misbehaving(every: number): Behaviour {
  const ways: readonly ((response: ServerResponse) => void)[] = [
    (response) => response.socket?.resetAndDestroy(),
    (response) => response.writeHead(500).end(),
    (response) => response.writeHead(429, { 'retry-after': '1' }).end(),
    () => {},
    (response) => {
      response.writeHead(200);
      const timer = setInterval(() => response.write('.'), 50);
      response.on('close', () => clearInterval(timer));
    },
  ];
  let requests = 0;
  return (_received, response) => {
    requests += 1;
    const way = requests % every === 0 ? ways[(requests / every) % ways.length] : undefined;
    if (way === undefined) response.writeHead(204).end();
    else way(response);
  };
}

async function lanesIn(location: StoreLocation): Promise<LaneRow[]> {
  const rows = await querySql(location, 'SELECT * FROM event_lanes ORDER BY destination_id');
  return rows.map((row) => ({ ...row }) as unknown as LaneRow);
}

/** The counters balance, the rows agree, and every event has a delivery in each lane. */
async function assertBalanced(location: StoreLocation): Promise<void> {
  const [events] = await querySql(location, 'SELECT count(*) AS total FROM events');
  const counted = await querySql(
    location,
    'SELECT destination_id, state, count(*) AS total FROM event_deliveries GROUP BY destination_id, state',
  );
  for (const lane of await lanesIn(location)) {
    const { enqueued, pending, delivered, dead, cancelled, pruned } = lane;
    const parts = [pending, delivered, dead, cancelled, pruned].map(Number);
    assert.equal(
      Number(enqueued),
      parts.reduce((sum, part) => sum + part, 0),
    );
    assert.equal(Number(enqueued), Number(events?.['total']), 'every event is enqueued in every lane');
    const rowsOf = (state: string) =>
      Number(
        counted.find((row) => row['destination_id'] === lane.destination_id && row['state'] === state)?.['total'] ?? 0,
      );
    assert.deepEqual(
      ['pending', 'delivered', 'dead', 'cancelled'].map(rowsOf),
      [pending, delivered, dead, cancelled].map(Number),
    );
  }
}

async function untilDelivered(location: StoreLocation, patienceMs: number): Promise<LaneRow[]> {
  const deadline = Date.now() + patienceMs;
  for (;;) {
    const lanes = await lanesIn(location);
    if (lanes.every((lane) => Number(lane.pending) === 0)) return lanes;
    if (Date.now() > deadline) assert.fail(`not delivered in time: ${JSON.stringify(lanes)}`);
    await sleep(200);
  }
}

async function assertReceived(
  location: StoreLocation,
  receiver: Receiver,
  path: string,
  secret: string,
  acknowledged: readonly string[],
): Promise<void> {
  const received = receiver.at(path);
  for (const each of received.slice(-50)) verify(each, secret);
  const idOf = new Map<string, string>();
  for (const { id, event } of received) {
    const known = idOf.get(event.event_id) ?? id;
    assert.equal(known, id, 'every sending of an event carries the same id');
    idOf.set(event.event_id, id);
  }
  const rows = await querySql(
    location,
    `SELECT event_id FROM event_deliveries JOIN records ON records.kind = 'event_destination'
      AND records.id = event_deliveries.destination_id
    WHERE records.doc LIKE '%"description":"${path}"%' AND state = 'delivered' ORDER BY seq`,
  );
  assert.deepEqual(
    [...idOf.keys()],
    rows.map((row) => String(row['event_id'])),
    'first sendings came in the order of the lane, and none is missing',
  );
  const objects = new Set(received.map(({ event }) => event.object.id as string));
  assert.deepEqual(
    acknowledged.filter((id) => !objects.has(id)),
    [],
    'every acknowledged change was delivered',
  );
}
