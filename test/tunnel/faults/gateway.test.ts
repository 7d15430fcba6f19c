import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { systemClock } from '../../../src/kit/clock.ts';
import type { NewEndpoint, Publication } from '../../../src/proxy/edge/tunnels/endpoints.ts';
import type { Lease } from '../../../src/store/store.ts';
import { eventually } from '../support/fault-world.ts';
import { EMPTY_STORE, loneGateway } from '../support/lone-gateway.ts';

const TUNNEL = { proto: 'https', addr: 1, domain: 'app.gateway.test' } as const;
const LEASE_MS = 15_000;
const RENEW_MS = 5_000;

/** Leases in memory, and failures on demand. */
function fragileStore() {
  const leases = new Map<string, Lease>();
  const state = { isDown: false };
  const during = (change: () => void): Promise<void> => {
    if (state.isDown) return Promise.reject(new Error('the store is down'));
    change();
    return Promise.resolve();
  };
  const store = {
    ...EMPTY_STORE,
    put: (puts: readonly Lease[]) =>
      during(() => {
        for (const lease of puts) leases.set(lease.id, lease);
      }),
    renew: () => during(() => {}),
    remove: (keys: readonly { readonly id: string }[]) =>
      during(() => {
        for (const { id } of keys) leases.delete(id);
      }),
  };
  return { leases, state, store };
}

test('a store outage when an agent connects does not end the server, and the agent gets in later', async (t) => {
  const { store, state, leases } = fragileStore();
  state.isDown = true;
  const { agent, errors } = await loneGateway(t, { presence: store });
  const waiting = agent({ tunnels: [TUNNEL] });
  await eventually('the server says so', () => errors.includes('failed to admit an agent'));
  state.isDown = false;
  await waiting.ready;
  assert.ok(leases.has(waiting.tunnels[0]?.id ?? ''));
});

test('a lease that could not be removed is removed at the next renewal, not renewed indefinitely', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const { store, state, leases } = fragileStore();
  const { agent, table } = await loneGateway(t, { presence: store });
  const leaving = agent({ tunnels: [TUNNEL] });
  await leaving.ready;
  state.isDown = true;
  await leaving.close();
  assert.equal(table.size, 0);
  assert.ok(leases.size > 0);
  state.isDown = false;
  t.mock.timers.tick(RENEW_MS);
  await eventually('nothing is listed', () => leases.size === 0);
});

test('after a stall longer than the lease everything online is listed again', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  let offsetMs = 0;
  const clock = { ...systemClock, nowMs: () => systemClock.nowMs() + offsetMs };
  const { store, leases } = fragileStore();
  const { agent } = await loneGateway(t, { presence: store, clock });
  const staying = agent({ tunnels: [TUNNEL, { labels: { a: 'b' }, addr: 1 }] });
  await staying.ready;
  const before = [...leases.keys()].toSorted();
  // Like the store's own sweep of expired leases.
  leases.clear();
  offsetMs = LEASE_MS + 1_000;
  t.mock.timers.tick(RENEW_MS);
  await eventually('all are listed', () => leases.size === before.length);
  assert.deepEqual([...leases.keys()].toSorted(), before);
  for (const lease of leases.values()) assert.ok(lease.expiresAtMs > clock.nowMs());
});

/** Endpoints whose publication the test controls. */
function slowEndpoints() {
  const published = new Set<string>();
  const asked = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  return {
    published,
    asked,
    go,
    endpoints: {
      isCoveredByEdge: () => false,
      publish: async ({ id, proto, host }: NewEndpoint): Promise<Publication> => {
        asked.resolve();
        await go.promise;
        published.add(id);
        return { ok: true, publicUrl: `${proto}://${host}`, hostport: `${host}:443` };
      },
      withdraw: (id: string) => void published.delete(id),
    },
  };
}

test('a credential deleted while a tunnel is being bound leaves neither its endpoint nor its name', async (t) => {
  const { endpoints, published, asked, go } = slowEndpoints();
  let isDeleted = false;
  let tell: (id: string) => void = () => {};
  const { agent, gateway, table } = await loneGateway(t, {
    endpoints,
    credentials: {
      isCurrent: () => true,
      find: () => (isDeleted ? null : { id: 'cr_1', acl: [] }),
      get: () => (isDeleted ? null : { acl: [] }),
      refresh: () => Promise.resolve(),
      onChange: (listener) => {
        tell = listener;
        return () => {};
      },
    },
  });
  const revoked = agent({ tunnels: [TUNNEL] });
  await asked.promise;
  isDeleted = true;
  tell('cr_1');
  go.resolve();
  await assert.rejects(revoked.ready);
  await eventually('it is withdrawn', () => published.size === 0);
  assert.equal(table.size, 0);
  assert.deepEqual(gateway.namesUnder('app.gateway.test'), []);
});

test('an agent lost while its tunnel is being bound gets the same one when it reconnects', async (t) => {
  const { endpoints, published, asked, go } = slowEndpoints();
  const { agent, table, cut } = await loneGateway(t, { endpoints });
  const lost = agent({ tunnels: [TUNNEL], connections: 1 });
  await asked.promise;
  const bound = once(lost, 'bound');
  const statuses: string[] = [];
  lost.on('status', ({ status }) => statuses.push(status));
  cut();
  // The agent's session is resumed before the first response arrives.
  await eventually('it is back', () => statuses.at(-1) === 'online');
  go.resolve();
  await bound;
  await eventually('it is online', () => table.size === 1);
  assert.equal(published.size, 1, 'there is a second endpoint');
  assert.equal(lost.publicUrl, 'https://app.gateway.test');
});
