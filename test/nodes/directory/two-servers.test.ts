import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { newHost } from '../../support/edge-world.ts';
import { freshDatabase, startPostgres } from '../../support/postgres.ts';
import { TunnelWorld } from '../../support/tunnel-world.ts';

const postgres = await startPostgres();
after(() => postgres.stop());
const { url: databaseUrl } = await freshDatabase(postgres);
const env = { POSTERN_SECRET_KEY: randomBytes(32).toString('base64'), POSTERN_PEER_LISTEN: '127.0.0.1:0' };
const a = await TunnelWorld.open({ after }, env, { databaseUrl });
const b = await TunnelWorld.open({ after }, { ...env, POSTERN_AUTHTOKEN: a.token }, { databaseUrl });

type Kind = 'tunnels' | 'endpoints' | 'tunnel_sessions';

async function listed({ edge }: TunnelWorld, kind: Kind): Promise<readonly { id: string }[]> {
  const { status, body } = await edge.world.api('GET', `/${kind}`);
  assert.equal(status, 200);
  return body[kind];
}

/** Waits until the lists of both nodes are equal and have this many objects; returns the one of `b`. */
async function same(kind: Kind, count: number): Promise<readonly { id: string }[]> {
  for (;;) {
    const [here, there] = [withoutUris(await listed(a, kind)), withoutUris(await listed(b, kind))];
    if (here.length === count && JSON.stringify(here) === JSON.stringify(there)) return there;
    await sleep(20);
  }
}

/** The API of each server has an address of its own. */
function withoutUris(items: readonly { id: string }[]): readonly { id: string }[] {
  return JSON.parse(JSON.stringify(items, (key, value) => (key === 'uri' ? undefined : value)));
}

suite('two servers on one database', () => {
  test('list the same sessions, tunnels and endpoints, from the first to the last', async () => {
    const host = newHost();
    const tunnels = [
      { proto: 'https' as const, addr: 'http://127.0.0.1:9', domain: host },
      { labels: { app: 'shop' }, addr: 'http://127.0.0.1:9' },
    ];
    const agent = await a.agent(tunnels);
    const [session] = await same('tunnel_sessions', 1);
    const [first] = await same('tunnels', 2);
    await same('endpoints', 1);
    const { body } = await b.edge.world.api('GET', `/tunnels/${first?.id}`);
    assert.equal(body.tunnel_session.id, session?.id);
    await agent.close();
    for (const kind of ['tunnel_sessions', 'tunnels', 'endpoints'] as const) await same(kind, 0);
  });

  test('both serve the name of an agent, until it leaves', async () => {
    const host = newHost();
    const agent = await a.agent([{ proto: 'https' as const, addr: 'http://127.0.0.1:9', domain: host }]);
    await same('endpoints', 1);
    while ((await b.edge.status(host).catch(() => 0)) === 0) await sleep(20);
    await agent.close();
    while ((await b.edge.status(host).catch(() => 0)) !== 0) await sleep(20);
  });

  test('list nothing of a deleted credential', async () => {
    const { body: credential } = await a.edge.world.api('POST', '/credentials', {});
    await a.agent([{ labels: { app: 'gone' }, addr: 'http://127.0.0.1:9' }], { authtoken: credential.token });
    await same('tunnels', 1);
    await b.edge.world.api('DELETE', `/credentials/${credential.id}`);
    assert.deepEqual(await listed(b, 'tunnels'), []);
    assert.deepEqual(await listed(b, 'tunnel_sessions'), []);
    await same('tunnels', 0);
  });
});
