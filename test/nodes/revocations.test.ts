import assert from 'node:assert/strict';
import type { Agent } from 'node:https';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePortsOn, ownAddresses } from '../support/cluster/own-addresses.ts';
import { Wire } from '../support/cluster/wire.ts';
import { until } from '../support/cluster.ts';
import { EdgeWorld, newHost, type Site } from '../support/edge-world.ts';
import { type FreshDatabase, freshDatabase, type PostgresServer, startPostgres } from '../support/postgres.ts';
import { shareOfCases } from '../support/share-of-cases.ts';

/** The bound after which a node that reaches nobody accepts no keys, with time for a busy machine. */
const FAILS_CLOSED_MS = 30_000;
const FORM = {
  'content-type': 'application/x-www-form-urlencoded',
  origin: 'null',
  'sec-fetch-site': 'same-origin',
};

let server: PostgresServer;
let database: FreshDatabase;
let databaseWire: Wire;
/** To one from two, and to two from one. */
let peerWires: readonly Wire[];
let one: EdgeWorld;
let two: EdgeWorld;
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
    POSTERN_PEER_LISTEN: `${host}:${peer}`,
    POSTERN_PEER_ADDRESS: `${host}:${wire}`,
  });
  one = await EdgeWorld.open(cleanup, envOf(first), { databaseUrl: database.url });
  const far = new URL(database.url);
  far.host = `${second}:${databasePort}`;
  two = await EdgeWorld.open(cleanup, envOf(second), { databaseUrl: far.href, dataDir: one.world.dataDir });
  await linked();
});
after(async () => {
  for (const task of cleanups.toReversed()) await task();
  await database.drop();
  await server.stop();
});

async function linked(): Promise<void> {
  for (const world of [one, two]) {
    await until('the nodes are linked', async () => {
      const { peers } = await world.api('GET', '/healthz?verbose');
      return peers.length === 1 && peers[0].status === 'linked';
    });
  }
}

/** Something that admits at node two until it is revoked at node one. */
interface Admitted {
  /** Status at node two, and of requests that it still admits. */
  readonly ask: () => Promise<number>;
  readonly revoke: () => Promise<unknown>;
}

const KINDS: Readonly<Record<string, () => Promise<Admitted>>> = {
  'an API key that is deleted': async () => {
    const { id, token } = await one.api('POST', '/api_keys', {});
    const ask = async (): Promise<number> =>
      (await two.world.api('GET', '/backends/static', undefined, { key: token })).status;
    return { ask, revoke: () => one.api('DELETE', `/api_keys/${id}`) };
  },
  'an API key that is narrowed': async () => {
    const { id, token } = await one.api('POST', '/api_keys', { scopes: ['backends:read', 'edges:read'] });
    const ask = async (): Promise<number> =>
      (await two.world.api('GET', '/backends/static', undefined, { key: token })).status;
    return { ask, revoke: () => one.api('PATCH', `/api_keys/${id}`, { scopes: ['edges:read'] }) };
  },
  'a token of a service account that is deleted': async () => {
    const { ask, tokenId } = await serviceToken();
    return { ask, revoke: () => one.api('DELETE', `/service_account_tokens/${tokenId}`) };
  },
  'a service account that is deactivated': async () => {
    const { ask, accountId } = await serviceToken();
    return { ask, revoke: () => one.api('PATCH', `/service_accounts/${accountId}`, { active: false }) };
  },
  'a guest link that is deleted': async () => {
    const { ask, linkId } = await guest();
    return { ask, revoke: () => one.api('DELETE', `/guest_links/${linkId}`) };
  },
  'a login that is ended': async () => {
    const { ask } = await guest();
    const { application_sessions: sessions } = await one.api('GET', '/app/sessions?limit=1');
    return { ask, revoke: () => one.api('DELETE', `/app/sessions/${sessions[0].id}`) };
  },
  'a credential of agents that is deleted': async () => {
    const { id } = await one.api('POST', '/credentials', {});
    const ask = async (): Promise<number> => (two.world.server.replica.get('credential', id) === undefined ? 401 : 200);
    return { ask, revoke: () => one.api('DELETE', `/credentials/${id}`) };
  },
  'a session of the console that is ended': async () => {
    const logIn = await one.world.api(
      'POST',
      '/console/session',
      { api_key: TEST_KEY },
      { key: null, headers: origin(one) },
    );
    assert.equal(logIn.status, 201, logIn.text);
    const cookie = logIn.headers.getSetCookie()[0]?.split(';')[0] ?? '';
    const headers = { ...origin(two), cookie, 'postern-console-token': logIn.body.token };
    const ask = async (): Promise<number> =>
      (await two.world.api('GET', '/console/session', undefined, { key: null, headers })).status;
    return { ask, revoke: () => one.api('DELETE', `/console/sessions/${logIn.body.id}`) };
  },
  'an edge that is deleted': async () => {
    const host = newHost();
    const { edgeId } = await one.site(await one.httpResponse('a page'), host);
    const ask = (): Promise<number> =>
      two.ask(host).then(
        ({ status }) => status,
        () => 421,
      );
    return { ask, revoke: () => one.api('DELETE', `/edges/https/${edgeId}`) };
  },
};
const CLOSED = [
  'an API key that is deleted',
  'a token of a service account that is deleted',
  'a guest link that is deleted',
  'a session of the console that is ended',
];
const TEST_KEY = 'test-api-key-0123456789abcdefghij';

function origin(world: EdgeWorld): Readonly<Record<string, string>> {
  return { origin: new URL(world.world.baseUrl).origin, 'sec-fetch-site': 'same-origin' };
}

async function siteFor(rule: object): Promise<Site> {
  const site = await one.site(await one.httpResponse('inside'), newHost());
  await one.api('PUT', `${site.routePath}/access`, { allow: [rule] });
  return site;
}

async function serviceToken() {
  const { id: accountId } = await one.api('POST', '/service_accounts', { name: 'robot' });
  const { id: tokenId, token } = await one.api('POST', '/service_account_tokens', {
    service_account_id: accountId,
    expires_at: new Date(Date.now() + 86_400_000).toISOString(),
  });
  const site = await siteFor({ service_accounts: [accountId] });
  const headers = { authorization: `Bearer ${token}` };
  return { accountId, tokenId, ask: async (): Promise<number> => (await two.ask(site.host, '/', { headers })).status };
}

const agents: Agent[] = [];
after(() => {
  for (const agent of agents) agent.destroy();
});

async function guest() {
  const site = await siteFor({ guests: true });
  const link = await one.api('POST', '/guest_links', {
    edge_id: site.edgeId,
    route_id: site.routeId,
    expires_at: new Date(Date.now() + 86_400_000).toISOString(),
  });
  const body = `link=${encodeURIComponent(new URL(link.url).searchParams.get('link') ?? '')}`;
  const redeemed = await one.ask(site.host, '/.postern/guest', { method: 'POST', headers: FORM, body });
  assert.equal(redeemed.status, 303, redeemed.text);
  const cookies = [redeemed.headers['set-cookie'] ?? []].flat().map((line) => line.split(';')[0]);
  const headers = { cookie: cookies.join('; ') };
  // One connection: each worker knows the logins that it has seen.
  const agent = two.agent();
  agents.push(agent);
  const ask = async (): Promise<number> => (await two.ask(site.host, '/', { headers, agent })).status;
  return { linkId: link.id, ask };
}

async function restored(): Promise<void> {
  databaseWire.delay('', 0);
  databaseWire.set('', 'open');
  for (const wire of peerWires) wire.set('', 'open');
  await until('the database is back', async () => (await two.api('GET', '/healthz')).status === 'ready');
  await linked();
}

for (const [at, state] of (['cut', 'black-hole'] as const).entries()) {
  test(`a node whose database is away (${state}) hears from a linked node what was revoked`, async (t) => {
    const all: [string, Admitted][] = [];
    for (const [what, make] of shareOfCases(Object.entries(KINDS), at, 2)) all.push([what, await make()]);
    for (const [what, { ask }] of all) await until(`${what} is admitted`, async () => (await ask()) === 200);
    databaseWire.set('', state);
    t.after(restored);
    for (const [what, { ask, revoke }] of all) {
      assert.equal(await ask(), 200, `${what} is in memory`);
      await revoke();
      // Nothing but the links: the database stays away.
      const ms = await until(`${what} ends`, async () => (await ask()) !== 200, 5_000);
      t.diagnostic(`${what}: ${ms.toFixed(0)} ms`);
    }
  });
}

test('a node that reaches neither the database nor the other node accepts no keys, tokens and links, and catches up over a new link', async (t) => {
  const kinds: Admitted[] = [];
  for (const what of CLOSED) kinds.push(await (KINDS[what] as () => Promise<Admitted>)());
  const [key, ...others] = kinds as [Admitted, ...Admitted[]];
  for (const { ask } of kinds) await until('it is admitted', async () => (await ask()) === 200);
  databaseWire.set('', 'cut');
  for (const wire of peerWires) wire.set('', 'black-hole');
  t.after(restored);
  await key.revoke();
  await until(
    'all of them are rejected',
    async () => (await Promise.all(kinds.map(({ ask }) => ask()))).every((status) => status === 503),
    FAILS_CLOSED_MS,
  );
  // The database stays away.
  for (const wire of peerWires) wire.set('', 'open');
  await until(
    'what was not revoked is admitted again',
    async () => (await Promise.all(others.map(({ ask }) => ask()))).every((status) => status === 200),
    FAILS_CLOSED_MS,
  );
  await until('the revoked key is known to be', async () => (await key.ask()) === 401);
  const { status } = await two.world.api('GET', '/backends/static/bkdst_unknown');
  assert.equal(status, 404, 'the linked node has the database, and knows it');
});

test('a revocation does not wait for a slow database', async (t) => {
  const { ask, revoke } = await (KINDS['a login that is ended'] as () => Promise<Admitted>)();
  assert.equal(await ask(), 200);
  databaseWire.delay('', 300);
  t.after(restored);
  await revoke();
  await sleep(500);
  // The answer takes its time: the database is asked whether the browser has another login.
  assert.notEqual(await ask(), 200);
});
