import assert from 'node:assert/strict';
import type { Agent } from 'node:https';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { ApiConnection } from '../support/api-connection.ts';
import type { ClusterNode } from '../support/cluster/cluster-node.ts';
import { Cluster, until } from '../support/cluster.ts';
import { newHost, type Site } from '../support/edge-sites.ts';
import { isLong } from '../support/share-of-cases.ts';

/** More than a lease, and less than the time after which keys count as unknown. */
const FROZEN_MS = 2_500;
const ROUNDS = isLong ? 10 : 3;
const FORM = {
  'content-type': 'application/x-www-form-urlencoded',
  origin: 'null',
  'sec-fetch-site': 'same-origin',
};

let cluster: Cluster;
let one: ClusterNode;
let two: ClusterNode;
const cleanups: (() => unknown)[] = [];

before(async () => {
  const cleanup = { after: (task: () => Promise<void>) => void cleanups.push(task) };
  cluster = await Cluster.open(cleanup, { nodes: 2, hasWires: true });
  one = cluster.first;
  two = cluster.node(1);
});
after(async () => {
  for (const task of cleanups.toReversed()) await task();
});

/** Something that node two admits until node one revokes it. */
interface Admitted {
  readonly ask: () => Promise<number>;
  readonly revoke: () => Promise<unknown>;
}

function keptAgent(): Agent {
  const agent = two.agent();
  cleanups.push(() => agent.destroy());
  return agent;
}

async function siteFor(rule: object): Promise<Site> {
  const site = await one.site(await one.httpResponse('inside'), newHost());
  await one.api('PUT', `${site.routePath}/access`, { allow: [rule] });
  return site;
}

const KINDS: Readonly<Record<string, () => Promise<Admitted>>> = {
  'an API key': async () => {
    const { id, token } = await one.api('POST', '/api_keys', {});
    const api = new ApiConnection(`${two.address}:${two.ports.api}`, token);
    cleanups.push(() => api.close());
    return {
      ask: async () => (await api.send('GET', '/backends/static')).status,
      revoke: () => one.api('DELETE', `/api_keys/${id}`),
    };
  },
  'an edge': async () => {
    const { host, edgePath } = await one.site(await one.httpResponse('a page'), newHost());
    const agent = keptAgent();
    return {
      // A deleted host completes no handshake.
      ask: () =>
        two.ask(host, '/', { agent }).then(
          ({ status }) => status,
          () => 421,
        ),
      revoke: () => one.api('DELETE', edgePath),
    };
  },
  'a token of a service account': async () => {
    const { id: accountId } = await one.api('POST', '/service_accounts', { name: 'robot' });
    const { id, token } = await one.api('POST', '/service_account_tokens', {
      service_account_id: accountId,
      expires_at: new Date(Date.now() + 86_400_000).toISOString(),
    });
    const { host } = await siteFor({ service_accounts: [accountId] });
    const agent = keptAgent();
    const headers = { authorization: `Bearer ${token}` };
    return {
      ask: async () => (await two.ask(host, '/', { headers, agent })).status,
      revoke: () => one.api('DELETE', `/service_account_tokens/${id}`),
    };
  },
  'a login': async () => {
    const { host, edgeId, routeId } = await siteFor({ guests: true });
    const link = await one.api('POST', '/guest_links', {
      edge_id: edgeId,
      route_id: routeId,
      expires_at: new Date(Date.now() + 86_400_000).toISOString(),
    });
    const body = `link=${encodeURIComponent(new URL(link.url).searchParams.get('link') ?? '')}`;
    const redeemed = await one.ask(host, '/.postern/guest', { method: 'POST', headers: FORM, body });
    assert.equal(redeemed.status, 303, redeemed.text);
    const cookies = [redeemed.headers['set-cookie'] ?? []].flat().map((line) => line.split(';')[0]);
    const agent = keptAgent();
    const headers = { cookie: cookies.join('; ') };
    return {
      ask: async () => (await two.ask(host, '/', { headers, agent })).status,
      revoke: async () => {
        const { application_sessions: sessions } = await one.api('GET', '/app/sessions?limit=1');
        await one.api('DELETE', `/app/sessions/${sessions[0].id}`);
      },
    };
  },
};

test('a node that was frozen answers no request from before with rights that were revoked meanwhile', async (t) => {
  const stale: Record<string, number> = {};
  const refused: Record<string, number> = {};
  const kept: number[] = [];
  const open = await KINDS['an edge']?.();
  assert(open !== undefined);
  for (let round = 0; round < ROUNDS; round += 1) {
    const all: [string, Admitted][] = [];
    for (const [what, make] of Object.entries(KINDS)) all.push([what, await make()]);
    for (const [what, { ask }] of [...all, ['another edge', open] as const])
      await until(`${what} is admitted`, async () => (await ask()) === 200);
    two.freeze();
    // Some wait in sockets while it is frozen, and some are there before the revocation.
    const early = all.map(async ([what, { ask }]) => [what, await ask()] as const);
    const untouched = open.ask();
    for (const [, { revoke }] of all) await revoke();
    const late = all.map(async ([what, { ask }]) => [what, await ask()] as const);
    await sleep(FROZEN_MS);
    two.thaw();
    for (const [what, status] of await Promise.all([...early, ...late])) {
      if (status === 200) stale[what] = (stale[what] ?? 0) + 1;
      else if (status >= 500) refused[what] = (refused[what] ?? 0) + 1;
    }
    kept.push(await untouched);
  }
  t.diagnostic(`stale: ${JSON.stringify(stale)}, refused with 5xx: ${JSON.stringify(refused)}`);
  assert.deepEqual(stale, {});
  // On a busy machine, catching up can take longer than requests wait for it.
  assert.deepEqual(
    kept.filter((status) => status !== 200 && status !== 503),
    [],
  );
  assert.ok(kept.includes(200), 'what was not revoked is served, after the node has caught up');
});

test('a node that was frozen, and finds no database and no other node, refuses what waited', async () => {
  const all = await Promise.all(['an API key', 'an edge'].map((what) => (KINDS[what] as () => Promise<Admitted>)()));
  for (const { ask } of all) await until('it is admitted', async () => (await ask()) === 200);
  two.freeze();
  cluster.setDatabaseLink(two, 'black-hole');
  cluster.setLink(one, two, 'black-hole');
  const waiting = all.map(({ ask }) => ask());
  for (const { revoke } of all) await revoke();
  await sleep(FROZEN_MS);
  two.thaw();
  assert.deepEqual(await Promise.all(waiting), [503, 503]);
  cluster.setDatabaseLink(two, 'open');
  cluster.setLink(one, two, 'open');
});
