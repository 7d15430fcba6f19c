import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { publicRoutes } from '../../src/control/api/public-routes.ts';
import { resources } from '../../src/control/resources/registry.ts';
import { scopesNeeded } from '../../src/control/resources/scopes.ts';
import { FURNISHED_ENV, FurnishedWorld, nameOf, operations } from '../conformance/furnished-world.ts';
import { TestWorld } from '../support/test-world.ts';
import { makeKey } from './keys.ts';

const world = await TestWorld.open({ after }, { env: FURNISHED_ENV });
const furnished = await FurnishedWorld.furnish(world);
const segmentOf = (path: string): string => path.split('/')[1] ?? '';
const marker = (segment: string): string => `only-for-${segment.replaceAll('_', '-')}`;
const segments = new Set<string>();

for (const operation of operations.filter(({ method }) => method === 'PUT')) {
  const { status, text } = await world.api('PUT', furnished.path(operation), furnished.example(operation));
  assert.equal(status, 200, text);
}

/** Every configuration object says in its description which scope shows it. */
for (const resource of resources) {
  if (resource.type !== 'configuration' || !('description' in resource.config.properties)) continue;
  const segment = segmentOf(resource.path);
  for (const { id, parent } of world.server.replica.all(resource.kind)) {
    const path = `${resource.path.replace(/\{[^}]+\}/, parent ?? '')}/${id}`;
    const { status, text } = await world.api('PATCH', path, { description: marker(segment) });
    assert.equal(status, 200, text);
    segments.add(segment);
  }
}

/** The data of other scopes that an operation shows although its path does not say so: it needs those scopes, too. */
const SHOWS_MORE: Readonly<Record<string, readonly string[]>> = {
  'explain.request': [
    ...['explain:read', 'edges:read', 'backends:read', 'ip_policies:read', 'certificate_authorities:read'],
    ...['service_accounts:read', 'tunnels:read', 'nodes:read', 'app:read'],
  ],
  'https_edge_routes.access.test': ['edges:read'],
  'https_edge_routes.access.review': ['edges:read', 'app:read'],
  'https_edge_routes.access.review_proposed': ['edges:read', 'app:read'],
};
/** Shows what the key may read elsewhere, object by object. */
const FILTERED = ['changesets.create', 'changesets.claims', 'search.query', 'problems.check'];

suite('an operation shows nothing beyond the scopes that it needs', () => {
  test('each needs the scope of its path, or is listed with all that it shows', () => {
    for (const operation of operations) {
      const name = nameOf(operation);
      const own = [`${segmentOf(operation.path)}:${operation.method === 'GET' ? 'read' : 'write'}`];
      const wanted = FILTERED.includes(name) ? [] : (SHOWS_MORE[name] ?? own);
      assert.deepEqual([name, [...scopesNeeded(operation)].sort()], [name, [...wanted].sort()]);
    }
    assert.ok(segments.size > 10, [...segments].join());
  });

  for (const operation of operations.filter(({ method, resource }) => method === 'GET' || resource === 'explain')) {
    test(nameOf(operation), async () => {
      const needed = scopesNeeded(operation);
      const { token } = await makeKey(world, needed.length > 0 ? [...needed] : ['series:read']);
      const query = nameOf(operation) === 'search.query' ? '?q=only-for' : '';
      const body = operation.method === 'GET' ? undefined : furnished.example(operation);
      const path = `${furnished.path(operation)}${query}`;
      const { status, text } = await world.api(operation.method, path, body, { key: token });
      // A change needs the scopes of its documents as well.
      assert.ok(nameOf(operation) === 'changes.get' ? status === 403 : status < 400, text);
      const foreign = [...segments].filter((segment) => !needed.includes(`${segment}:read`));
      const shown = foreign.filter((segment) => text.includes(marker(segment)));
      assert.deepEqual(shown, [], text);
    });
  }

  test('a search and the history show what the scopes of the key allow', async () => {
    const { token } = await makeKey(world, ['changes:read', 'ip_policies:read']);
    const { text } = await world.api('GET', '/search?q=only-for', undefined, { key: token });
    const changes: { objects: { kind: string }[] }[] = [];
    for (let next: string | null = '/changes?limit=100'; next !== null; ) {
      const { body } = await world.api('GET', next, undefined, { key: token });
      changes.push(...body.changes);
      next = body.next_page_uri;
    }
    assert.ok(text.includes(marker('ip_policies')) && !text.includes(marker('edges')), text);
    const kinds = changes.flatMap(({ objects }) => objects.map(({ kind }) => kind));
    assert.ok(kinds.length > 0 && kinds.every((kind: string) => kind === 'ip_policy'), String(kinds));
  });
});

suite('a page beside the operations shows nothing beyond the scopes that it needs', () => {
  const page = (path: string, key?: string): Promise<Response> =>
    fetch(`${world.baseUrl}${path}`, {
      redirect: 'manual',
      headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
    });

  test('all of them are listed here', () => {
    assert.deepEqual(publicRoutes.map(({ path }) => path).sort(), [
      '/',
      '/docs',
      '/healthz',
      '/metrics',
      '/openapi.json',
    ]);
  });

  test('metrics need metrics:read', async () => {
    const narrow = (await makeKey(world, ['edges:read', 'nodes:read'])).token;
    const refused = await page('/metrics', narrow);
    const { details } = (await refused.json()) as { details: { scope: string } };
    assert.deepEqual([refused.status, details.scope], [403, 'metrics:read']);
    assert.equal((await page('/metrics')).status, 401);
    for (const scopes of [['metrics:read'], ['*:read'], ['*']]) {
      const { token } = await makeKey(world, scopes);
      assert.equal((await page('/metrics', token)).status, 200, String(scopes));
    }
    const { token } = await makeKey(world, ['metrics:read']);
    assert.equal((await world.api('GET', '/edges/https', undefined, { key: token })).status, 403);
  });

  test('the health of a server names its peers to keys with nodes:read alone, and never refuses', async () => {
    const asked = async (key?: string) => {
      const answer = await page('/healthz?verbose', key);
      assert.equal(answer.status, 200);
      return Object.keys((await answer.json()) as object);
    };
    const open = ['status', 'store'];
    assert.deepEqual(await asked(), open);
    assert.deepEqual(await asked((await makeKey(world, ['edges:read'])).token), open);
    assert.deepEqual(await asked('an-unknown-key'), open);
    assert.deepEqual(await asked((await makeKey(world, ['nodes:read'])).token), [...open, 'peers']);
  });

  test('the documentation and the way to the console show nothing of this server', async () => {
    const { server } = world;
    for (const path of ['/openapi.json', '/docs', '/', '/console/session']) {
      const text = await (await page(path)).text();
      const shown = [...segments].filter((segment) => text.includes(marker(segment)));
      assert.deepEqual(shown, [], path);
      for (const { id } of server.replica.all('https_edge')) assert.ok(!text.includes(id), path);
    }
  });
});
