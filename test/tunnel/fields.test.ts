import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, suite, test } from 'node:test';
import { isLong } from '../support/share-of-cases.ts';
import { TunnelWorld } from '../support/tunnel-world.ts';
import { eventually } from './support/fault-world.ts';

const world = await TunnelWorld.open({ after }, { POSTERN_REGION: 'here' });
const local = createServer((request, response) => response.end(`local ${request.url}`));
await new Promise<void>((resolve) => {
  local.listen(0, '127.0.0.1', resolve);
});
after(() => local.close());
const { port } = local.address() as AddressInfo;

/** Fields that are always present, as in section 2.5 of the interface. */
const ALWAYS = ['forwards_to', 'id', 'metadata', 'region', 'started_at', 'tunnel_session'];

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers field by field
function tunnel(id: string | null | undefined): Promise<any> {
  return world.edge.api('GET', `/tunnels/${id}`);
}

suite('every field of a tunnel', () => {
  for (const proto of ['https', 'http', 'tls', 'tcp'] as const) {
    test(proto, async () => {
      const agent = await world.agent([{ proto, addr: port, metadata: `of ${proto}` }], { metadata: 'of the session' });
      const [{ id, publicUrl: url }] = agent.tunnels as unknown as [{ id: string; publicUrl: string }];
      const shown = await tunnel(id);
      assert.deepEqual(Object.keys(shown).sort(), [...ALWAYS, 'endpoint', 'proto', 'public_url'].sort());
      assert.equal(shown.public_url, url);
      assert.match(url, new RegExp(`^${proto}://`));
      assert.equal(shown.proto, proto);
      assert.equal(shown.metadata, `of ${proto}`);
      assert.equal(shown.region, 'here');
      assert.match(shown.forwards_to, new RegExp(`:${port}$`));
      assert.ok(Math.abs(Date.parse(shown.started_at) - Date.now()) < 60_000);
      assert.equal(shown.tunnel_session.id, agent.sessionId);
      assert.equal(shown.tunnel_session.uri, `${world.edge.world.baseUrl}/tunnel_sessions/${agent.sessionId}`);
      const endpoint = await world.edge.api('GET', `/endpoints/${shown.endpoint.id}`);
      assert.deepEqual(
        [endpoint.type, endpoint.public_url, endpoint.tunnel.id, endpoint.proto],
        ['ephemeral', url, id, proto],
      );
      const old = await world.edge.world.api('GET', `/tunnels/${id}`, undefined, { version: '0' });
      assert.equal(old.body.metadata, 'of the session');
      await agent.close();
      assert.equal((await world.edge.world.api('GET', `/tunnels/${id}`)).status, 404);
      assert.equal((await world.edge.world.api('GET', `/endpoints/${shown.endpoint.id}`)).status, 404);
      assert.equal((await world.edge.world.api('GET', `/tunnel_sessions/${agent.sessionId}`)).status, 404);
    });
  }

  test('labelled', async () => {
    const group = await world.edge.api('POST', '/backends/tunnel_group', { labels: { app: 'shop' } });
    const agent = await world.agent([{ labels: { app: 'shop', zone: 'a' }, addr: port }]);
    const shown = await tunnel(agent.tunnels[0]?.id);
    assert.deepEqual(Object.keys(shown).sort(), [...ALWAYS, 'backends', 'labels'].sort());
    assert.deepEqual(shown.labels, { app: 'shop', zone: 'a' });
    assert.equal(shown.backends.id, group.id);
    const read = await world.edge.api('GET', `/backends/tunnel_group/${group.id}`);
    assert.deepEqual(
      read.tunnels.map((each: { id: string }) => each.id),
      [agent.tunnels[0]?.id],
    );
    await agent.close();
    const later = await world.edge.api('GET', `/backends/tunnel_group/${group.id}`);
    assert.deepEqual(later.tunnels, []);
  });

  test('the session', async () => {
    const agent = await world.agent([{ proto: 'https', addr: port }], { metadata: 'mine' });
    const session = await world.edge.api('GET', `/tunnel_sessions/${agent.sessionId}`);
    assert.deepEqual(
      [session.metadata, session.ip, session.region, session.transport],
      ['mine', '127.0.0.1', 'here', 'postern/1'],
    );
    assert.ok(session.agent_version.length > 0 && session.os.length > 0);
    assert.match(session.credential.id, /^cr_/);
    await agent.close();
  });
});

const EACH = isLong ? 250 : 60;

test(`paging over ${4 * EACH} tunnels finds each once`, async () => {
  const agents = [];
  const wanted = new Set<string>();
  for (let made = 0; made < 4; made += 1) {
    const specs = Array.from({ length: EACH }, (_, at) => ({ labels: { n: `${made}-${at}` }, addr: port }));
    const agent = await world.agent(specs);
    agents.push(agent);
    for (const { id } of agent.tunnels) wanted.add(id ?? '');
  }
  const seen: string[] = [];
  let next: string | null = '/tunnels?limit=100';
  while (next !== null) {
    const page: { tunnels: { id: string }[]; next_page_uri: string | null } = await world.edge.api('GET', next);
    seen.push(...page.tunnels.map(({ id }) => id));
    next = page.next_page_uri;
  }
  assert.equal(new Set(seen).size, seen.length);
  assert.deepEqual(
    [...wanted].filter((id) => !seen.includes(id)),
    [],
  );
  await Promise.all(agents.map((agent) => agent.close()));
  // An agent waits for the server to unlist its tunnels, but no longer than two seconds.
  await eventually('none is listed', async () => {
    const { tunnels } = await world.edge.api('GET', '/tunnels?limit=100');
    return !tunnels.some(({ id }: { id: string }) => wanted.has(id));
  });
});
