import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { freePortsOn, ownAddresses } from '../support/cluster/own-addresses.ts';
import { Wire } from '../support/cluster/wire.ts';
import { EdgeWorld } from '../support/edge-world.ts';
import { type FreshDatabase, freshDatabase, type PostgresServer, startPostgres } from '../support/postgres.ts';
import { isLong } from '../support/share-of-cases.ts';

/** At 300 ms the heartbeat of a node failed, too. */
const START_ROUND_TRIP_MS = isLong ? 300 : 100;
const ROUND_TRIP_MS = 100;
const TIMES = isLong ? 5 : 2;

let server: PostgresServer;
let database: FreshDatabase;
let databaseWire: Wire;
let peerWires: readonly Wire[];
let near: EdgeWorld;
let far: EdgeWorld;
let startMs: number;
const cleanups: (() => Promise<void>)[] = [];

before(async () => {
  const cleanup = { after: (task: () => Promise<void>) => void cleanups.push(task) };
  server = await startPostgres();
  database = await freshDatabase(server);
  const addresses = ownAddresses(2);
  const [first = '', second = ''] = addresses;
  const [peer = 0, wire = 0, databasePort = 0] = await freePortsOn(first, 3);
  peerWires = await Promise.all(
    addresses.map((host) => Wire.open(cleanup, { host, port: wire }, { host, port: peer })),
  );
  const { hostname, port } = new URL(database.url);
  databaseWire = await Wire.open(cleanup, { host: second, port: databasePort }, { host: hostname, port: Number(port) });
  const envOf = (host: string): Readonly<Record<string, string>> => ({
    POSTERN_NODE_NAME: host,
    POSTERN_ROLES: 'api,edge,gateway,events',
    POSTERN_TUNNEL_LISTEN: '127.0.0.1:0',
    POSTERN_PEER_LISTEN: `${host}:${peer}`,
    POSTERN_PEER_ADDRESS: `${host}:${wire}`,
  });
  near = await EdgeWorld.open(cleanup, envOf(first), { databaseUrl: database.url });
  const url = new URL(database.url);
  url.host = `${second}:${databasePort}`;
  databaseWire.delay('', START_ROUND_TRIP_MS / 2);
  const beganMs = performance.now();
  far = await EdgeWorld.open(cleanup, envOf(second), { databaseUrl: url.href, dataDir: near.world.dataDir });
  startMs = performance.now() - beganMs;
  databaseWire.delay('', ROUND_TRIP_MS / 2);
});
after(async () => {
  databaseWire.delay('', 0);
  for (const task of cleanups.toReversed()) await task();
  await database.drop();
  await server.stop();
});

/** Asks the far node right after the near one has answered. */
async function askRightAfter(): Promise<{
  readonly resources: number[];
  readonly keys: number[];
  readonly etags: number[];
}> {
  const resources: number[] = [];
  const keys: number[] = [];
  const etags: number[] = [];
  for (let at = 0; at < TIMES; at += 1) {
    const { id } = await near.api('POST', '/backends/http_response', { body: 'here' });
    resources.push((await far.world.api('GET', `/backends/http_response/${id}`)).status);
    const { token } = await near.api('POST', '/api_keys', {});
    keys.push((await far.world.api('GET', '/backends/static', undefined, { key: token })).status);
    const changed = await near.world.api('PATCH', `/backends/http_response/${id}`, { body: 'there' });
    const headers = { 'if-match': changed.headers.get('etag') ?? '' };
    etags.push((await far.world.api('PATCH', `/backends/http_response/${id}`, { body: 'again' }, { headers })).status);
  }
  return { resources, keys, etags };
}

const all = (status: number): number[] => Array.from({ length: TIMES }, () => status);

test(`a node starts with a database ${START_ROUND_TRIP_MS} ms away`, (t) => {
  t.diagnostic(`${(startMs / START_ROUND_TRIP_MS).toFixed(0)} round trips`);
  // The start took 79 round trips.
  assert.ok(startMs < 60 * START_ROUND_TRIP_MS, `${startMs} ms`);
});

test('what was created at one node is found at another one whose database is far away', async () => {
  assert.deepEqual(await askRightAfter(), { resources: all(200), keys: all(200), etags: all(200) });
});

test('without links as well, because the database is asked before the answer', async () => {
  for (const wire of peerWires) wire.set('', 'cut');
  assert.deepEqual(await askRightAfter(), { resources: all(200), keys: all(200), etags: all(200) });
});

test('a node that can ask neither the database nor another node says so', async () => {
  const { id } = await near.api('POST', '/backends/http_response', { body: 'unheard' });
  const { token } = await near.api('POST', '/api_keys', {});
  // The far node must not hear of them in time.
  databaseWire.set('', 'black-hole');
  const later = await near.api('POST', '/backends/http_response', { body: 'later' });
  const found = await far.world.api('GET', `/backends/http_response/${later.id}`);
  assert.deepEqual([found.status, found.headers.get('retry-after') !== null], [503, true], found.text);
  const key = await far.world.api('GET', '/backends/static', undefined, { key: `${token}x` });
  assert.equal(key.status, 503, key.text);
  const none = await far.world.api('GET', '/backends/static', undefined, { key: null });
  assert.equal(none.status, 401, 'nothing that others did makes it valid');
  databaseWire.set('', 'open');
  assert.ok(id !== later.id);
});
