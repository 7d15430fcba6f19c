import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { UNUSED_VALUES } from '../../src/control/resources/endpoints/endpoints.ts';
import { TestWorld } from '../support/test-world.ts';

const clock = { now: Date.parse('2026-11-01T09:00:00Z'), nowMs: () => clock.now };
const world = await TestWorld.open({ after }, { clock, env: { POSTERN_REGION: 'attic' } });

interface Endpoint {
  readonly id: string;
  readonly hostport: string;
}

async function newEdge(...hostports: string[]): Promise<{ id: string; uri: string }> {
  const answer = await world.api('POST', '/edges/https', { hostports, metadata: 'of the edge' });
  assert.equal(answer.status, 201, answer.text);
  return answer.body;
}

/** All pages, followed like a client does. */
async function all(limit: number): Promise<Endpoint[]> {
  const found: Endpoint[] = [];
  for (let uri = `/endpoints?limit=${limit}`; uri !== null; ) {
    const { body } = await world.api('GET', uri);
    assert.ok(body.endpoints.length <= limit);
    found.push(...body.endpoints);
    uri = body.next_page_uri;
  }
  return found;
}

test('each hostport of an edge is an endpoint while the edge has it', async () => {
  const edge = await newEdge('one.localhost:443', '*.one.localhost:7443');
  const { body } = await world.api('GET', '/endpoints');
  const byHost = new Map<string, Record<string, unknown>>(
    body.endpoints.map((endpoint: Endpoint) => [endpoint.hostport, endpoint]),
  );
  const { id, ...rest } = byHost.get('one.localhost:443') ?? {};
  assert.match(String(id), /^ep_[0-9A-Za-z]{27}$/);
  assert.deepEqual(rest, {
    uri: `${world.baseUrl}/endpoints/${String(id)}`,
    region: 'attic',
    created_at: '2026-11-01T09:00:00.000Z',
    updated_at: '2026-11-01T09:00:00.000Z',
    public_url: 'https://one.localhost',
    url: 'https://one.localhost',
    proto: 'https',
    scheme: 'https',
    hostport: 'one.localhost:443',
    host: 'one.localhost',
    port: 443,
    type: 'edge',
    description: '',
    metadata: 'of the edge',
    tunnel: null,
    edge: { id: edge.id, uri: edge.uri },
    ...UNUSED_VALUES,
  });
  assert.equal(byHost.get('*.one.localhost:7443')?.['public_url'], 'https://*.one.localhost:7443');
  assert.deepEqual((await world.api('GET', `/endpoints/${String(id)}`)).body, { id, ...rest });

  await world.api('PATCH', `/edges/https/${edge.id}`, { hostports: ['*.one.localhost:7443'] });
  assert.equal((await world.api('GET', `/endpoints/${String(id)}`)).status, 404);
  const kept = byHost.get('*.one.localhost:7443')?.['id'];
  assert.deepEqual(
    (await all(100)).map((endpoint) => endpoint.id),
    [kept],
  );
  await world.api('DELETE', `/edges/https/${edge.id}`);
  assert.deepEqual(await all(100), []);
});

test('pages of any size show each once, newest first, merged with those of tunnels', async () => {
  const hostports: string[] = [];
  for (let second = 0; second < 6; second += 1) {
    clock.now += 1000;
    // Several within a second, more than fit a page, and some seconds without any.
    for (let edge = 0; edge < (second % 3) * 3; edge += 1) {
      const names = [1, 2, 3].map((name) => `e${second}-${edge}-${name}.localhost:443`);
      await newEdge(...names);
      hostports.push(...names);
    }
    clock.now += 1000;
    const tunnel = { hostport: `t${second}.localhost:443`, proto: 'https', type: 'ephemeral' };
    await world.store.presence.put([
      {
        kind: 'endpoint',
        id: `ep_${(await newEdge()).id.slice('edghts_'.length)}`,
        parent: null,
        credentialId: null,
        bootId: 'boot',
        expiresAtMs: clock.now + 3_600_000,
        doc: tunnel,
      },
    ]);
    hostports.push(tunnel.hostport);
  }
  const whole = await all(100);
  assert.deepEqual(whole.map(({ hostport }) => hostport).sort(), hostports.sort());
  const secondOf = (hostport: string) => Number(/^[et](\d)/.exec(hostport)?.[1]) + (hostport.startsWith('t') ? 0.5 : 0);
  const ages = whole.map(({ hostport }) => secondOf(hostport));
  assert.deepEqual(
    ages,
    ages.toSorted((a, b) => b - a),
  );
  for (const limit of [1, 2, 7, 12]) assert.deepEqual(await all(limit), whole);
  for (const { id } of whole) assert.equal((await world.api('GET', `/endpoints/${id}`)).body.id, id);
  const before = async (cursor: string) => (await world.api('GET', `/endpoints?before_id=${cursor}`)).body.endpoints;
  assert.deepEqual(await before(`ep_${'0'.repeat(27)}`), []);
  assert.equal((await before(`ep_${'z'.repeat(27)}`)).length, whole.length);
});

test('an id of the same second without an endpoint is not found', async () => {
  const [first] = await all(1);
  const other = `${first?.id.slice(0, -1)}${first?.id.endsWith('0') ? '1' : '0'}`;
  assert.equal((await world.api('GET', `/endpoints/${other}`)).status, 404);
});
