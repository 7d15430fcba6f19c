import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { createCatalog } from '../../src/control/documents/catalog.ts';
import { Renderer } from '../../src/control/documents/renderer.ts';
import { Search } from '../../src/control/documents/search.ts';
import { resources } from '../../src/control/resources/registry.ts';
import type { Replica } from '../../src/store/replica/replica.ts';
import type { StoredRecord } from '../../src/store/store.ts';
import { operatorEnv, runCommand } from '../cli/run-command.ts';
import { TestWorld } from '../support/test-world.ts';

const world = await TestWorld.open({ after });
const made = async (path: string, body: object): Promise<string> => {
  const answer = await world.api('POST', path, body);
  assert.equal(answer.status, 201, answer.text);
  return answer.body.id;
};
const find = async (q: string, key?: string) => {
  const answer = await world.api(
    'GET',
    `/search?${new URLSearchParams({ q }).toString()}`,
    undefined,
    key ? { key } : {},
  );
  assert.equal(answer.status, 200, answer.text);
  return answer.body.results as { kind: string; id: string; uri: string; title: string; matched: string }[];
};
const idsFor = async (q: string, key?: string) => (await find(q, key)).map(({ id }) => id);

const edge = await made('/edges/https', {
  hostports: ['Shop.Example.com:443', 'www.shop.example.com:443'],
  metadata: '{"team":"Checkout"}',
});
const route = await made(`/edges/https/${edge}/routes`, {
  match: '/admin',
  match_type: 'path_prefix',
  oidc: { issuer: 'https://accounts.example.com', client_id: 'c', client_secret: 'planted-secret-value' },
});
const policy = await made('/ip_policies', { description: 'Office of the shop.example.com team' });
const domain = await made('/reserved_domains', { domain: 'docs.example.com' });
const backend = await made('/backends/tunnel_group', { labels: { app: 'billing' } });

suite('GET /search', () => {
  test('has a whole label before labels that begin with it, whatever is newer', async () => {
    const host = (name: string) => made('/edges/https', { hostports: [`${name}.example.com:443`] });
    const wiki = await host('wiki');
    const numbered = [await host('wiki-1'), await host('wiki-2')];
    const own = await host('my.wiki');
    const inside = await host('mediawikis');
    assert.deepEqual(await idsFor('wiki'), [wiki, ...numbered.reverse(), own, inside]);
  });

  test('finds resources by host name, path, description, metadata, labels and id', async () => {
    const cases: readonly (readonly [string, readonly string[], string])[] = [
      ['shop.example.com', [edge, route, policy], 'hostports'],
      ['SHOP.example.com/adm', [route], 'match'],
      ['/admin', [route], 'match'],
      ['office team', [policy], 'description'],
      ['checkout', [edge], 'metadata'],
      ['docs.', [domain], 'domain'],
      ['app=billing', [backend], 'labels'],
      [policy, [policy], 'id'],
      ['nowhere', [], ''],
      ['', [], ''],
      ['   ', [], ''],
    ];
    for (const [q, ids, matched] of cases) {
      const results = await find(q);
      assert.deepEqual(results.map(({ id }) => id).sort(), [...ids].sort(), q);
      if (matched !== '') assert.equal(results[0]?.matched, matched, q);
    }
    const [first] = await find('/admin');
    assert.deepEqual(first, {
      kind: 'https_edge_route',
      id: route,
      uri: `${world.baseUrl}/edges/https/${edge}/routes/${route}`,
      title: 'shop.example.com/admin',
      matched: 'match',
    });
    assert.equal((await find(edge))[0]?.title, 'shop.example.com, www.shop.example.com');
  });

  test('shows names before free text', async () => {
    const [first, ...others] = await idsFor('shop.example.com');
    assert.equal(first, edge);
    assert.equal(others.at(-1), policy);
  });

  test('leaves out what the key may not read, and never searches secrets', async () => {
    const { token } = (await world.api('POST', '/api_keys', { scopes: ['ip_policies:read'] })).body;
    assert.deepEqual(await idsFor('shop.example.com', token), [policy]);
    assert.deepEqual(await idsFor(edge, token), []);
    assert.deepEqual(await find('planted-secret-value'), []);
    const keyId = (await world.api('GET', '/api_keys')).body.keys[0].id;
    assert.deepEqual(await idsFor(keyId, token), []);
  });

  test('has a limit, and tells when there is more', async () => {
    for (let count = 0; count < 5; count += 1) await made('/ip_policies', { description: 'many of them' });
    const { body } = await world.api('GET', '/search?q=many&limit=3');
    assert.deepEqual([body.results.length, body.has_more], [3, true]);
    assert.equal((await world.api('GET', '/search?q=many&limit=5')).body.has_more, false);
    for (const wrong of ['limit=0', 'limit=101', `q=${'x'.repeat(201)}`, 'query=x', 'q=a&q=b']) {
      assert.equal((await world.api('GET', `/search?${wrong}`)).status, 400, wrong);
    }
  });

  test('lets the event loop turn while it looks at many records', async () => {
    const record = (at: number): StoredRecord => ({
      ...{ kind: 'https_edge', id: `edghts_${String(at).padStart(27, '0')}`, parent: null, revision: 1, secrets: null },
      doc: { hostports: [`host-${at}.example.com:443`], metadata: 'x'.repeat(2_000) },
    });
    const records = Array.from({ length: 20_000 }, (_, at) => record(at));
    const catalog = createCatalog(resources, []);
    const replica = { all: (kind: string) => (kind === 'https_edge' ? records : []), get: () => undefined };
    const search = new Search(catalog, replica as unknown as Replica, new Renderer(catalog, () => ''), {
      listUsers: async () => [],
    });
    let turns = 0;
    const ticking = setInterval(() => {
      turns += 1;
    }, 0);
    const principal = { apiKeyId: '', scopes: ['*'] };
    const { hasMore } = await search.find('example.com', 3, { principal });
    clearInterval(ticking);
    assert.equal(hasMore, true);
    assert.ok(turns > 2, `${turns} turns`);
  });
});

test('postern search prints one line per match', async () => {
  const env = operatorEnv(world);
  const found = await runCommand(['search', 'shop.example.com/admin'], { env });
  const [head = '', line = ''] = found.stdout.split('\n');
  assert.deepEqual([found.code, head.split(/ {2,}/)], [0, ['TITLE', 'KIND', 'MATCHED', 'ID']]);
  assert.deepEqual(line.split(/ {2,}/), ['shop.example.com/admin', 'https_edge_route', 'match', route]);
  assert.equal((await runCommand(['search', '/admin', '-o', 'id'], { env })).stdout, `${route}\n`);
  const json = await runCommand(['search', 'docs.example.com', '-o', 'json'], { env });
  assert.equal(JSON.parse(json.stdout).results[0].id, domain);
  const none = await runCommand(['search', 'nowhere'], { env });
  assert.deepEqual([none.code, none.stderr], [1, 'postern: nothing found\n']);
  assert.match((await runCommand(['search'], { env })).stderr, /takes the text to look for/);
  assert.match((await runCommand(['search', 'many', '--limit', '1'], { env })).stderr, /there are more matches/);
});
