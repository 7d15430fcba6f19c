import assert from 'node:assert/strict';
import type { IncomingHttpHeaders } from 'node:http2';
import { after, suite, test } from 'node:test';
import { EdgeWorld, newHost } from '../../support/edge-world.ts';
import { shareOfCases } from '../../support/share-of-cases.ts';
import { rawExchange } from '../traffic/raw-exchange.ts';
import { TunnelWorld } from '../tunnels/tunnel-world.ts';
import { laxUpstream } from './lax-upstream.ts';

interface RouteToMake {
  readonly match: string;
  readonly type?: 'exact_path' | 'path_prefix';
  readonly policy?: string;
}

const upstream = await laxUpstream({ after });
const world = await EdgeWorld.open({ after });
const backendId = await world.staticBackend(upstream.address);
const { policyId: nobody } = await world.ipPolicy('allow', '192.0.2.0/24');
const { policyId: everybody } = await world.ipPolicy('allow', '0.0.0.0/0');

async function siteWith(routes: readonly RouteToMake[], of = world, backend = backendId): Promise<string> {
  const host = newHost();
  const edgeId = await of.edge(host);
  for (const { match, type = 'path_prefix', policy } of routes) {
    const path = await of.route(edgeId, match, type);
    await of.api('PUT', `${path}/backend`, { backend_id: backend });
    if (policy !== undefined) await of.api('PUT', `${path}/ip_restriction`, { ip_policy_ids: [policy] });
  }
  return host;
}

/** The path verbatim, which node:https would not always send. */
async function rawStatus(host: string, path: string, of = world): Promise<{ status: number; code: string }> {
  const socket = await of.connect(host);
  const { bytes, statuses } = await rawExchange(
    socket,
    `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
  );
  return { status: statuses[0] ?? 0, code: /postern-error-code: (\S+)/i.exec(bytes)?.[1] ?? '' };
}

async function http2Status(host: string, path: string): Promise<number> {
  const session = await world.http2(host);
  const stream = session.request({ ':path': path });
  const headers = await new Promise<IncomingHttpHeaders>((resolve) => stream.once('response', resolve));
  session.destroy();
  return Number(headers[':status']);
}

const SPELLINGS_OF_ADMIN = [
  '/ADMIN',
  '/Admin/users',
  '/%2561dmin',
  '/%2541dmin',
  '/%25u0061dmin',
  '/%c1%a1dmin',
  '/%e0%81%a1dmin',
  '/%ef%bd%81dmin',
  '/%25ef%25bd%2581dmin',
  '/adm%c4%b1n',
  '/ADMIN;x=1',
  '/x/%252e%252e/admin',
  '/x/..%20/admin',
  '/%252fadmin',
  '/%255cadmin',
  '/%20/admin',
  '/ad%2509min',
  '/x/%252E%252e%253b/ADMIN',
  '/x%255c..%255cadmin',
  '/x/%ef%bc%8e%ef%bc%8e/admin',
  '/ADMIN;%252f..%252f../x',
  '/%EF%BC%852561dmin',
  '/%F8%80%80%81%A1dmin',
  '/%FC%80%80%80%81%A1dmin',
  '/%25F8%2580%80%2581%A1dmin',
  '/adm%E0%84%B1n',
  '/%C3%A0dmin',
  '/a%CC%80dmin',
  '/adm%C4%B1n/%FF',
  '/x%3F/%252e%252e/admin%2523/%252e%252e/%252e%252e',
];

suite('paths that an upstream may read as those of a route with other access rules', () => {
  test('another spelling does not reach a protected prefix', async () => {
    const host = await siteWith([{ match: '/' }, { match: '/admin', policy: nobody }]);
    assert.equal((await rawStatus(host, '/admin')).status, 403);
    assert.equal((await rawStatus(host, '/')).status, 200);
    for (const path of SPELLINGS_OF_ADMIN) {
      assert.deepEqual(await rawStatus(host, path), { status: 400, code: 'ERR_POSTERN_BAD_PATH' }, path);
    }
  });

  test('nor over HTTP/2', async () => {
    const host = await siteWith([{ match: '/' }, { match: '/admin', policy: nobody }]);
    assert.equal(await http2Status(host, '/ADMIN'), 400);
    assert.equal(await http2Status(host, '/%2561dmin'), 400);
    assert.equal(await http2Status(host, '/public'), 200);
  });

  test('a trailing slash, dot, space or parameter does not reach a protected exact path', async () => {
    const host = await siteWith([{ match: '/' }, { match: '/admin', type: 'exact_path', policy: nobody }]);
    assert.equal((await rawStatus(host, '/admin')).status, 403);
    for (const path of [
      '/admin/',
      '/ADMIN/',
      '/admin.',
      '/admin%20',
      '/admin;x',
      '/admin%3F',
      '/admin%252F',
      '/admin%2500.png',
      '/aDmin. ./',
    ]) {
      const target = path.replaceAll(' ', '%20');
      assert.deepEqual(await rawStatus(host, target), { status: 400, code: 'ERR_POSTERN_BAD_PATH' }, path);
    }
    for (const path of ['/admin/x', '/administrator', '/ADMINistrator', '/admin.html', '/x/admin']) {
      assert.equal((await rawStatus(host, path)).status, 200, path);
    }
  });

  test('a route with a trailing slash protects its path without one, and stays reachable itself', async () => {
    for (const type of ['exact_path', 'path_prefix'] as const) {
      const host = await siteWith([
        { match: '/', policy: nobody },
        { match: '/open/', type, policy: everybody },
      ]);
      assert.equal((await rawStatus(host, '/open/')).status, 200);
      assert.equal((await rawStatus(host, '/open')).status, 400);
      assert.equal((await rawStatus(host, '/opening')).status, 403);
    }
  });

  test('a route in capitals protects its path in small letters, and stays reachable itself', async () => {
    const host = await siteWith([{ match: '/' }, { match: '/Admin', policy: nobody }]);
    assert.equal((await rawStatus(host, '/Admin')).status, 403);
    for (const path of ['/admin', '/ADMIN', '/administrator']) assert.equal((await rawStatus(host, path)).status, 400);
  });

  test('one candidate with other rules is enough', async () => {
    const host = await siteWith([{ match: '/' }, { match: '/a/B', policy: nobody }, { match: '/A/b' }]);
    for (const path of ['/a/b', '/a/B', '/A/b', '/A/B/c'])
      assert.equal((await rawStatus(host, path)).status, 400, path);
    assert.equal((await rawStatus(host, '/a')).status, 200);
  });

  test('a path of an exact route before a prefix is itself, not its prefix', async () => {
    const host = await siteWith([
      { match: '/', policy: nobody },
      { match: '/', type: 'exact_path' },
    ]);
    assert.equal((await rawStatus(host, '/')).status, 200);
    assert.equal((await rawStatus(host, '/x')).status, 403);
  });

  test('an open exact path opens no spelling of a protected prefix of its name', async () => {
    for (const match of ['/admin', '/admin/']) {
      const host = await siteWith([{ match: '/' }, { match: '/admin', type: 'exact_path' }, { match, policy: nobody }]);
      assert.equal((await rawStatus(host, '/admin')).status, 200);
      assert.equal((await rawStatus(host, '/admin/x')).status, 403);
      for (const path of ['/admin/', '/ADMIN/', '/admin./', '/admin%20/', '/%2561dmin/', '/ADMIN/x']) {
        assert.deepEqual(await rawStatus(host, path), { status: 400, code: 'ERR_POSTERN_BAD_PATH' }, path);
      }
    }
  });

  test('a path does not lead out of its route to a page that another route protects, or that has none', async () => {
    const cases = [
      [{ match: '/', policy: nobody }, { match: '/open/' }],
      [{ match: '/open/' }, { match: '/admin', policy: nobody }],
      [{ match: '/OPEN/x' }, { match: '/open', policy: nobody }],
    ];
    const paths = ['/open/%252e%252e/open', '/open/%252e%252e/x', '/OPEN/x/%252e%252e/%252e%252e/open/x'];
    for (const [index, routes] of cases.entries()) {
      const path = paths[index] as string;
      const host = await siteWith(routes);
      assert.deepEqual(await rawStatus(host, path), { status: 400, code: 'ERR_POSTERN_BAD_PATH' }, path);
    }
  });

  test('a module that cannot be applied counts as different', async () => {
    const host = newHost();
    const edgeId = await world.edge(host);
    for (const match of ['/', '/admin']) {
      const path = await world.route(edgeId, match);
      await world.api('PUT', `${path}/backend`, { backend_id: backendId });
      if (match === '/admin') await world.api('PUT', `${path}/oidc`, {});
    }
    assert.equal((await rawStatus(host, '/admin')).status, 503);
    assert.equal((await rawStatus(host, '/ADMIN')).status, 400);
  });
});

suite('sites that are not affected', () => {
  const everySpelling = [...SPELLINGS_OF_ADMIN, '/admin/', '/admin.', '/admin%20'].filter(
    (path) => !path.includes(';'),
  );
  const cases: Readonly<Record<string, readonly RouteToMake[]>> = {
    'no access modules': [{ match: '/' }, { match: '/admin' }],
    'the same on every route': [
      { match: '/', policy: everybody },
      { match: '/admin', policy: everybody },
    ],
  };
  for (const [subject, [name, routes]] of Object.entries(cases).entries()) {
    test(name, async () => {
      const host = await siteWith(routes);
      for (const path of shareOfCases(everySpelling, subject, 3)) {
        assert.equal((await rawStatus(host, path)).status, 200, path);
      }
    });
  }

  test('modules that admit everybody make no difference', async () => {
    const host = newHost();
    const edgeId = await world.edge(host);
    for (const match of ['/', '/admin']) {
      const path = await world.route(edgeId, match);
      await world.api('PUT', `${path}/backend`, { backend_id: backendId });
      if (match === '/admin') {
        await world.api('PUT', `${path}/compression`, {});
        await world.api('PUT', `${path}/ip_restriction`, { enabled: false, ip_policy_ids: [nobody] });
      }
    }
    assert.equal((await rawStatus(host, '/ADMIN')).status, 200);
  });
});

test("an agent's endpoint has one route, whose modules check every spelling", async (context) => {
  const tunnels = await TunnelWorld.open(context);
  const { id } = await tunnels.tunnel(context);
  const open = await tunnels.publish(id, { modules: { ip_restriction: { allow: ['127.0.0.0/8'], deny: [] } } });
  const closed = await tunnels.publish(id, { modules: { ip_restriction: { allow: ['192.0.2.0/24'], deny: [] } } });
  for (const path of ['/admin', '/ADMIN/', '/%2561dmin', '/admin;x=1']) {
    assert.equal(await tunnels.clients.status(open.host, path), 200, path);
    assert.equal(await tunnels.clients.status(closed.host, path), 403, path);
  }
});

suite('ambiguous_paths', () => {
  const routesOf = (policy: string): readonly RouteToMake[] => [{ match: '/' }, { match: '/admin', policy }];

  test('pass: the paths go to the route that they match literally', async () => {
    const lax = await EdgeWorld.open({ after }, { POSTERN_AMBIGUOUS_PATHS: 'pass' });
    const { policyId } = await lax.ipPolicy('allow', '192.0.2.0/24');
    const host = await siteWith(routesOf(policyId), lax, await lax.staticBackend(upstream.address));
    assert.equal((await rawStatus(host, '/ADMIN', lax)).status, 200);
    assert.equal((await rawStatus(host, '/admin', lax)).status, 403);
    assert.equal((await rawStatus(host, '/x/..%2fadmin', lax)).status, 400);
  });

  test('pass for some hosts, by name and by wildcard', async () => {
    const some = await EdgeWorld.open(
      { after },
      { POSTERN_AMBIGUOUS_PATHS_PASS_HOSTS: 'one.localhost,*.any.localhost' },
    );
    const { policyId } = await some.ipPolicy('allow', '192.0.2.0/24');
    const backend = await some.staticBackend(upstream.address);
    const { id } = await some.api('POST', '/edges/https', {
      hostports: ['one.localhost:443', 'two.localhost:443', '*.any.localhost:443'],
    });
    for (const { match, policy } of routesOf(policyId)) {
      const path = await some.route(id, match);
      await some.api('PUT', `${path}/backend`, { backend_id: backend });
      if (policy !== undefined) await some.api('PUT', `${path}/ip_restriction`, { ip_policy_ids: [policy] });
    }
    assert.equal((await rawStatus('one.localhost', '/ADMIN', some)).status, 200);
    assert.equal((await rawStatus('x.any.localhost', '/ADMIN', some)).status, 200);
    assert.equal((await rawStatus('two.localhost', '/ADMIN', some)).status, 400);
  });
});
