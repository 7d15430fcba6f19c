import assert from 'node:assert/strict';
import { before, suite, test } from 'node:test';
import { createCatalog } from '../../src/control/documents/catalog.ts';
import type { Documents } from '../../src/control/documents/documents.ts';
import { operationsOf } from '../../src/control/documents/operations.ts';
import { resources } from '../../src/control/resources/registry.ts';
import { createKsuidSource } from '../../src/kit/text/ksuid.ts';
import { modules } from '../../src/modules/registry.ts';
import { cleanupAfterSuite, ENGINES, made, makeRoute, openWorld, usePostgres } from '../concurrency/worlds.ts';
import { shareOfCases } from '../support/share-of-cases.ts';
import { TestWorld } from '../support/test-world.ts';
import { type Key, makeKey } from './keys.ts';

usePostgres();

const catalog = createCatalog(resources, modules);
const operations = operationsOf(catalog, null as unknown as Documents);
const ksuid = createKsuidSource();

suite('permissions of a key with one scope', () => {
  const cleanup = cleanupAfterSuite();
  let world: TestWorld;

  before(async () => {
    world = await TestWorld.open(cleanup);
  });

  /** Questions about access rules change nothing, and the answer to one shows people. A key needs all of these. */
  const QUESTIONS: ReadonlyMap<string, readonly string[]> = new Map([
    ['https_edge_routes.access.test', ['edges:read']],
    ['https_edge_routes.access.review', ['edges:read', 'app:read']],
    ['https_edge_routes.access.review_proposed', ['edges:read', 'app:read']],
    // Whatever it shows: see shown-scopes.test.ts.
    [
      'explain.request',
      [
        ...['explain:read', 'edges:read', 'backends:read', 'ip_policies:read', 'certificate_authorities:read'],
        ...['service_accounts:read', 'tunnels:read', 'nodes:read', 'app:read'],
      ],
    ],
    // Each of its operations needs its own scope.
    ['changesets.create', []],
    ['search.query', []],
    ['problems.check', []],
    ['changesets.claims', []],
  ]);

  test('every first segment has a scope for reading and one for writing, and there are no others', () => {
    const paths = operations.filter(({ scopes }) => scopes === undefined || scopes.length > 0).map(({ path }) => path);
    const segments = [...new Set(paths.map((path) => path.split('/')[1]))];
    const wanted = segments.flatMap((segment) => [`${segment}:read`, `${segment}:write`]);
    assert.deepEqual([...catalog.scopes].sort(), ['*', '*:read', 'metrics:read', 'secrets:read', ...wanted].sort());
    assert.ok(operations.length > 90, `only ${operations.length} operations: is the table whole?`);
  });

  for (const [subject, scope] of catalog.scopes.entries()) {
    test(`${scope}: exactly its operations are allowed`, async () => {
      const { token } = await makeKey(world, [scope]);
      // All of its own segment, and a share of the others.
      const others = new Set(shareOfCases(operations, subject, 8));
      const sent = operations.filter(
        (operation) => scope.split(':')[0] === operation.path.split('/')[1] || scope === '*' || others.has(operation),
      );
      const answers = await inParallel(sent, ({ method, path }) => {
        // Ids without a record and unknown fields: an admitted request is rejected for that, and nothing changes.
        const url = path.replaceAll(/\{\w+\}/g, () => `xx_${ksuid(Date.now())}`);
        const hasBody = method !== 'GET' && method !== 'DELETE';
        return world.api(method, url, hasBody ? { nonsense: true } : undefined, { key: token });
      });
      for (const [{ resource, verb, method, path }, { status, text, body }] of answers) {
        const got = `${resource}.${verb} with ${scope} got ${status}: ${text}`;
        const asked = QUESTIONS.get(`${resource}.${verb}`);
        // The written rule, not the code that applies it: the first segment of the path, read or write.
        const needed = asked ?? [`${path.split('/')[1]}:${method === 'GET' ? 'read' : 'write'}`];
        const isRead = scope === '*:read' && needed.every((each) => each.endsWith(':read'));
        if (scope === '*' || isRead || needed.every((each) => each === scope)) {
          assert.ok(status !== 401 && status !== 403 && status < 500, got);
          continue;
        }
        assert.equal(status, 403, got);
        assert.ok(needed.includes(body.details.scope), got);
      }
    });
  }

  test('HEAD requires the scope of GET', async () => {
    const { token } = await makeKey(world, ['edges:read']);
    assert.equal((await world.api('HEAD', '/edges/https', undefined, { key: token })).status, 200);
    assert.equal((await world.api('HEAD', '/tunnels', undefined, { key: token })).status, 403);
  });
});

for (const engine of ENGINES) {
  suite(`secrets and keys on ${engine}`, () => {
    const cleanup = cleanupAfterSuite();
    const OIDC = { issuer: 'https://accounts.example.com', client_id: 'id', client_secret: 'planted-secret' };
    let world: TestWorld;
    let blind: { readonly key: string };

    before(async () => {
      world = await openWorld(cleanup, engine);
      blind = { key: (await makeKey(world, ['edges:read', 'edges:write'])).token };
    });

    test('without secrets:read a secret reads as "", wherever it is shown', async () => {
      const edge = made(await world.api('POST', '/edges/https', { hostports: [`secrets-${engine}.localhost:443`] }));
      const body = { match_type: 'path_prefix', match: '/', oidc: OIDC };
      const route = made(await world.api('POST', `${edge.uri}/routes`, body));
      assert.equal((await world.api('GET', `${route.uri}/oidc`, undefined, blind)).body.client_secret, '');
      assert.equal((await world.api('GET', route.uri, undefined, blind)).body.oidc.client_secret, '');
      assert.equal((await world.api('GET', edge.uri, undefined, blind)).body.routes[0].oidc.client_secret, '');
      const answers = [
        await world.api('GET', '/edges/https', undefined, blind),
        await world.api('GET', `${edge.uri}/routes`, undefined, blind),
        await world.api('PATCH', edge.uri, { description: 'd' }, blind),
        await world.api('PATCH', route.uri, { description: 'd' }, blind),
        await world.api('PUT', `${route.uri}/oidc`, { ...OIDC, client_secret: 'sent-by-the-blind' }, blind),
        await world.api('POST', `${edge.uri}/routes`, { ...body, match: '/2' }, blind),
      ];
      for (const { status, text } of answers) {
        assert.ok(status < 300, text);
        assert.ok(!/planted-secret|sent-by-the-blind/.test(text), text);
      }
      const sighted = await makeKey(world, ['edges:read', 'secrets:read']);
      const read = await world.api('GET', `${route.uri}/oidc`, undefined, { key: sighted.token });
      assert.equal(read.body.client_secret, 'sent-by-the-blind');
    });

    test('a key without secrets:read can send back what it read without erasing the secret', async () => {
      const route = await makeRoute(world);
      await world.api('PUT', `${route.uri}/oidc`, OIDC);
      const before = await world.store.currentRevision();
      const module = (await world.api('GET', `${route.uri}/oidc`, undefined, blind)).body;
      assert.equal((await world.api('PUT', `${route.uri}/oidc`, module, blind)).status, 200);
      assert.equal((await world.api('PATCH', route.uri, { oidc: module }, blind)).status, 200);
      assert.equal(await world.store.currentRevision(), before, 'nothing was written');
      await world.api('PUT', `${route.uri}/oidc`, { ...module, maximum_duration: 60 }, blind);
      const { client_secret: _, ...without } = module;
      await world.api('PUT', `${route.uri}/oidc`, { ...without, maximum_duration: 61 }, blind);
      const { body } = await world.api('GET', `${route.uri}/oidc`);
      assert.deepEqual([body.client_secret, body.maximum_duration], [OIDC.client_secret, 61]);
      // A caller that can see the secret can remove it.
      await world.api('PUT', `${route.uri}/oidc`, { ...body, client_secret: '' });
      assert.equal((await world.api('GET', `${route.uri}/oidc`)).body.client_secret, '');
    });

    test('no key creates, changes or deletes a key beyond its own scopes', async () => {
      const clerk = await makeKey(world, ['api_keys:read', 'api_keys:write', 'edges:read']);
      const as = { key: clerk.token };
      const [equal, wider, unlimited] = [
        await makeKey(world, ['edges:read']),
        await makeKey(world, ['edges:write']),
        await makeKey(world),
      ];
      for (const scopes of [undefined, ['*'], ['edges:write'], ['edges:read', 'secrets:read'], ['tunnels:read']]) {
        const { status, body } = await world.api('POST', '/api_keys', scopes === undefined ? {} : { scopes }, as);
        assert.deepEqual([status, body.error_code], [403, 'ERR_POSTERN_FORBIDDEN'], scopes?.join() ?? 'left out');
      }
      for (const target of [wider, unlimited]) {
        assert.equal((await world.api('PATCH', target.uri, { description: 'mine now' }, as)).status, 403);
        assert.equal((await world.api('PATCH', target.uri, { scopes: ['edges:read'] }, as)).status, 403);
        assert.equal((await world.api('DELETE', target.uri, undefined, as)).status, 403);
        assert.equal((await world.api('GET', target.uri)).body.description, '');
      }
      for (const scopes of [['*'], ['edges:write'], ['edges:read', 'credentials:write']]) {
        assert.equal((await world.api('PATCH', equal.uri, { scopes }, as)).status, 403);
        assert.equal((await world.api('PATCH', clerk.uri, { scopes }, as)).status, 403, 'not even its own');
      }
      const own = await makeKey(world, ['edges:read', 'api_keys:write'], clerk.token);
      assert.equal((await world.api('PATCH', equal.uri, { description: 'd' }, as)).status, 200);
      assert.equal((await world.api('DELETE', equal.uri, undefined, as)).status, 204);
      assert.equal((await world.api('DELETE', own.uri, undefined, as)).status, 204);
      const listed = await world.api('GET', '/api_keys', undefined, as);
      assert.equal(listed.status, 200);
      assert.ok(!/token(?!":null)/.test(listed.text), 'neither tokens nor their hashes are listed');
    });

    test('a deleted or narrowed key stops working immediately', async () => {
      const key = await makeKey(world, ['tunnels:read', 'edges:read']);
      assert.equal((await world.api('GET', '/tunnels', undefined, { key: key.token })).status, 200);
      await world.api('PATCH', key.uri, { scopes: ['edges:read'] });
      assert.equal((await world.api('GET', '/tunnels', undefined, { key: key.token })).status, 403);
      assert.equal((await world.api('DELETE', key.uri)).status, 204);
      assert.equal((await world.api('GET', '/edges/https', undefined, { key: key.token })).status, 401);
    });

    test('rejects an empty list of scopes, unknown and repeated ones with advice', async () => {
      const key = await makeKey(world, ['edges:read']);
      const writes = [['POST', '/api_keys'] as const, ['PATCH', key.uri] as const];
      for (const [method, path] of writes) {
        const empty = await world.api(method, path, { scopes: [] });
        assert.deepEqual([empty.status, empty.body.details.field], [400, '/scopes']);
        const unknown = await world.api(method, path, { scopes: ['edge:reed'] });
        assert.equal(unknown.status, 400);
        assert.match(unknown.body.msg, /edges:read/);
        for (const scopes of [['edges:read', 'edges:read'], ['secrets:write'], ['*:write'], ['edges'], [''], [null]]) {
          assert.equal((await world.api(method, path, { scopes })).status, 400, JSON.stringify(scopes));
        }
      }
      const all = (await makeKey(world)) as Key & { readonly scopes: readonly string[] };
      assert.deepEqual(all.scopes, ['*']);
    });
  });
}

/** All at once would only measure the number of sockets. */
async function inParallel<Item, Result>(
  items: readonly Item[],
  task: (item: Item) => Promise<Result>,
): Promise<[Item, Result][]> {
  const done: [Item, Result][] = [];
  for (let at = 0; at < items.length; at += 24) {
    const batch = items.slice(at, at + 24);
    done.push(...(await Promise.all(batch.map(async (item): Promise<[Item, Result]> => [item, await task(item)]))));
  }
  return done;
}
