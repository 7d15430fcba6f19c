import assert from 'node:assert/strict';
import { before, suite, test } from 'node:test';
import { systemClock } from '../../src/kit/clock.ts';
import { openInternalCa } from '../support/internal-ca.ts';
import { isLong } from '../support/share-of-cases.ts';
import { tempDir } from '../support/temp-dir.ts';
import type { ApiAnswer, TestWorld } from '../support/test-world.ts';
import {
  cleanupAfterSuite,
  countByStatus,
  ENGINES,
  type Made,
  made,
  makeEdge,
  makeRoute,
  makeStaticBackend,
  openWorld,
  usePostgres,
} from './worlds.ts';

const WRITERS = isLong ? 32 : 12;

usePostgres();

for (const engine of ENGINES) {
  suite(`writers racing in one process on ${engine}`, () => {
    let world: TestWorld;
    let caPem: string;
    const cleanup = cleanupAfterSuite();

    before(async () => {
      world = await openWorld(cleanup, engine);
      const ca = await openInternalCa({ dataDir: await tempDir(cleanup), domain: 'apps.test', clock: systemClock });
      caPem = ca.otherCaPem;
    });

    const api: TestWorld['api'] = (...args) => world.api(...args);
    const oidcBody = (writer: number) => ({
      issuer: `https://issuer-${writer}.example.com`,
      client_id: `client-${writer}`,
      client_secret: `secret-${writer}`,
      scopes: [`scope-${writer}`],
      maximum_duration: writer,
    });

    for (const writers of [2, WRITERS]) {
      test(`${writers} writers with If-Match lose no update: one wins per ETag, the others get 412`, async () => {
        const route = await makeRoute(world);
        let { headers } = await api('PUT', `${route.uri}/oidc`, oidcBody(0));
        for (let round = 1; round <= 5; round += 1) {
          const etag = headers.get('etag') as string;
          const answers = await parallel(writers, (writer) =>
            api('PUT', `${route.uri}/oidc`, oidcBody(round * 1000 + writer), { headers: { 'if-match': etag } }),
          );
          assert.deepEqual(countByStatus(answers), { 200: 1, 412: writers - 1 });
          const winner = answers.find((answer) => answer.status === 200) as ApiAnswer;
          const read = await api('GET', `${route.uri}/oidc`);
          assert.deepEqual(read.body, winner.body);
          assert.equal(read.headers.get('etag'), winner.headers.get('etag'));
          headers = read.headers;
        }
      });

      test(`${writers} writers without If-Match: the last PUT wins completely, and each took one revision`, async () => {
        const route = await makeRoute(world);
        const before = await world.store.currentRevision();
        const answers = await parallel(writers, (writer) => api('PUT', `${route.uri}/oidc`, oidcBody(writer)));
        assert.deepEqual(countByStatus(answers), { 200: writers });
        const { body, headers } = await api('GET', `${route.uri}/oidc`);
        const winner = Number(body.client_id.slice('client-'.length));
        assert.deepEqual(body, { ...UNSET_OIDC, ...oidcBody(winner) });
        assert.equal((await world.store.currentRevision()) - before, writers);
        const revisions = answers.map((answer) => Number(answer.headers.get('postern-revision')));
        assert.equal(new Set(revisions).size, writers);
        assert.equal(answers[winner]?.headers.get('postern-revision'), String(Math.max(...revisions)));
        assert.equal(headers.get('etag'), `"${Math.max(...revisions)}"`);
      });
    }

    test('every PUT returns what it stored itself, with its ETag', async () => {
      const route = await makeRoute(world);
      const answers = await parallel(WRITERS, (writer) => api('PUT', `${route.uri}/oidc`, oidcBody(writer)));
      for (const [writer, answer] of answers.entries()) {
        assert.deepEqual(answer.body, { ...UNSET_OIDC, ...oidcBody(writer) });
        assert.equal(answer.headers.get('etag'), `"${answer.headers.get('postern-revision')}"`);
      }
    });

    test('concurrent equal PUTs are at most one write, and all succeed', async () => {
      const route = await makeRoute(world);
      await api('PUT', `${route.uri}/oidc`, oidcBody(1));
      const before = await world.store.currentRevision();
      const answers = await parallel(WRITERS, () => api('PUT', `${route.uri}/oidc`, oidcBody(1)));
      assert.deepEqual(countByStatus(answers), { 200: WRITERS });
      assert.equal(await world.store.currentRevision(), before);
    });

    test('PUTs of different modules of one route all survive', async () => {
      const edge = await makeEdge(world);
      const route = await makeRoute(world, edge);
      const [backend, policy] = [
        await makeStaticBackend(world),
        made(await api('POST', '/ip_policies', { description: 'p' })),
      ];
      const answers = await Promise.all([
        api('PUT', `${route.uri}/oidc`, oidcBody(7)),
        api('PUT', `${route.uri}/backend`, { backend_id: backend.id }),
        api('PUT', `${route.uri}/compression`, { enabled: false }),
        api('PUT', `${route.uri}/ip_restriction`, { ip_policy_ids: [policy.id] }),
        api('PUT', `${edge.uri}/tls_termination`, { min_version: '1.3' }),
        api('PATCH', route.uri, { description: 'patched meanwhile' }),
        api('PATCH', edge.uri, { metadata: 'patched meanwhile' }),
      ]);
      assert.deepEqual(countByStatus(answers), { 200: 7 });
      const { body } = await api('GET', edge.uri);
      assert.equal(body.metadata, 'patched meanwhile');
      assert.equal(body.tls_termination.min_version, '1.3');
      assert.equal(body.routes[0].description, 'patched meanwhile');
      assert.equal(body.routes[0].oidc.client_id, 'client-7');
      assert.equal(body.routes[0].backend.backend.id, backend.id);
      assert.equal(body.routes[0].compression.enabled, false);
      assert.equal(body.routes[0].ip_restriction.ip_policies[0].id, policy.id);
    });

    test('PATCHes of different fields all survive', async () => {
      const backend = made(await api('POST', '/backends/http_response', { body: 'old' }));
      const fields = [
        { body: 'new' },
        { status_code: 503 },
        { headers: { 'x-a': '1' } },
        { description: 'd' },
        { metadata: 'm' },
      ];
      const answers = await Promise.all(fields.map((field) => api('PATCH', backend.uri, field)));
      assert.deepEqual(countByStatus(answers), { 200: fields.length });
      const { body } = await api('GET', backend.uri);
      for (const field of fields) assert.deepEqual({ ...body, ...field }, body);
    });

    test('concurrently added event sources all survive, and equal ones are created once', async () => {
      const subscription = made(await api('POST', '/event_subscriptions', {}));
      const types = (await api('GET', '/event_types')).body.event_types.map(
        ({ type }: { type: string }) => type,
      ) as string[];
      const wanted = types.slice(0, 20);
      const answers = await Promise.all(
        [...wanted, ...wanted].map((type) => api('POST', `${subscription.uri}/sources`, { type })),
      );
      assert.deepEqual(countByStatus(answers), { 201: wanted.length, 409: wanted.length });
      const { body } = await api('GET', `${subscription.uri}/sources`);
      assert.deepEqual(body.sources.map(({ type }: { type: string }) => type).sort(), [...wanted].sort());
      const removed = await Promise.all(
        [...wanted, ...wanted].map((type) => api('DELETE', `${subscription.uri}/sources/${type}`)),
      );
      assert.deepEqual(countByStatus(removed), { 204: wanted.length, 404: wanted.length });
      assert.deepEqual((await api('GET', `${subscription.uri}/sources`)).body.sources, []);
    });

    test('one host, one route match, one domain: exactly one of the concurrent creates succeeds', async () => {
      const edge = await makeEdge(world);
      const creates: readonly (readonly [string, object])[] = [
        ['/edges/https', { hostports: [`unique-${engine}.localhost:443`] }],
        [`${edge.uri}/routes`, { match_type: 'exact_path', match: '/unique' }],
        ['/reserved_domains', { domain: `unique-${engine}.example.com` }],
      ];
      for (const [path, body] of creates) {
        const answers = await parallel(WRITERS, () => api('POST', path, body));
        assert.deepEqual(countByStatus(answers), { 201: 1, 409: WRITERS - 1 }, path);
        const winner = answers.find((answer) => answer.status === 201)?.body as Made;
        for (const { status, body: refused } of answers) {
          if (status === 409) assert.equal(refused.details.held_by, winner.id);
        }
      }
      assert.equal((await api('GET', `${edge.uri}/routes`)).body.routes.length, 1);
    });

    test('deleting a CA while a module starts to refer to it leaves no dangling reference', async () => {
      const outcomes = new Set<string>();
      for (let round = 0; round < 12; round += 1) {
        const edge = await makeEdge(world);
        const ca = made(await api('POST', '/certificate_authorities', { ca_pem: caPem }));
        const put = () => api('PUT', `${edge.uri}/mutual_tls`, { certificate_authority_ids: [ca.id] });
        const drop = () => api('DELETE', ca.uri);
        const [first, second] = round % 2 === 0 ? [put, drop] : [drop, put];
        const answers = await Promise.all([first(), second()]);
        const [putAnswer, dropAnswer] = round % 2 === 0 ? answers : [answers[1], answers[0]];
        outcomes.add(`${putAnswer?.status} ${dropAnswer?.status}`);
        const caNow = await api('GET', ca.uri);
        const moduleNow = await api('GET', `${edge.uri}/mutual_tls`);
        assert.equal(caNow.status, moduleNow.status);
        if (putAnswer?.status === 400) assert.equal(putAnswer.body.details.id, ca.id);
        if (dropAnswer?.status === 409) assert.equal(dropAnswer.body.details.referred_by, edge.id);
      }
      for (const outcome of outcomes) assert.ok(['200 409', '400 204'].includes(outcome), outcome);
    });

    test('one of two concurrent deletes succeeds and the other gets 404', async () => {
      const backend = await makeStaticBackend(world);
      assert.deepEqual(countByStatus(await parallel(2, () => api('DELETE', backend.uri))), { 204: 1, 404: 1 });
      const route = await makeRoute(world);
      assert.deepEqual(countByStatus(await parallel(8, () => api('DELETE', route.uri))), { 204: 1, 404: 7 });
      const other = await makeRoute(world);
      await api('PUT', `${other.uri}/compression`, {});
      const before = await world.store.currentRevision();
      assert.deepEqual(countByStatus(await parallel(8, () => api('DELETE', `${other.uri}/compression`))), { 204: 8 });
      assert.equal((await world.store.currentRevision()) - before, 1);
    });

    test('deleting an edge while routes are created leaves no orphan, and returns 404', async () => {
      for (let round = 0; round < 10; round += 1) {
        const edge = await makeEdge(world);
        const [deleted, ...creates] = await Promise.all([
          api('DELETE', edge.uri),
          ...Array.from({ length: 4 }, (_, at) =>
            api('POST', `${edge.uri}/routes`, { match_type: 'exact_path', match: `/${at}`, compression: {} }),
          ),
        ]);
        assert.equal(deleted?.status, 204);
        for (const create of creates) assert.ok([201, 404].includes(create.status), create.text);
        assert.equal((await api('GET', edge.uri)).status, 404);
      }
      for (const kind of ['https_edge_route', 'https_edge_route.compression']) {
        for (const record of world.server.replica.all(kind)) {
          const owner = kind === 'https_edge_route' ? 'https_edge' : 'https_edge_route';
          assert.ok(world.server.replica.get(owner, record.parent as string), `${record.id} is an orphan`);
        }
      }
    });

    test('deleting a route while its modules are written leaves none of them', async () => {
      for (let round = 0; round < 10; round += 1) {
        const route = await makeRoute(world);
        const [deleted, ...puts] = await Promise.all([
          api('DELETE', route.uri),
          ...Array.from({ length: 4 }, (_, at) => api('PUT', `${route.uri}/oidc`, oidcBody(at))),
        ]);
        assert.equal(deleted?.status, 204);
        for (const put of puts) assert.ok([200, 404].includes(put.status), put.text);
        assert.equal(world.server.replica.get('https_edge_route.oidc', `${route.id}.oidc`), undefined);
      }
    });

    test('at most one of two failover backends that refer to each other succeeds', async () => {
      const base = await makeStaticBackend(world);
      for (let round = 0; round < 10; round += 1) {
        const [a, b] = [
          made(await api('POST', '/backends/failover', { backends: [base.id] })),
          made(await api('POST', '/backends/failover', { backends: [base.id] })),
        ];
        const answers = await Promise.all([
          api('PATCH', a.uri, { backends: [b.id] }),
          api('PATCH', b.uri, { backends: [a.id] }),
        ]);
        assert.deepEqual(countByStatus(answers), { 200: 1, 400: 1 });
        assert.equal(answers.find(({ status }) => status === 400)?.body.error_code, 'ERR_POSTERN_REFERENCE_CYCLE');
      }
    });

    test('the ETag of an edge covers its routes and their modules: adding, changing or deleting one fails If-Match', async () => {
      const edge = await makeEdge(world);
      const route = await makeRoute(world, edge);
      const changes: readonly (readonly [string, () => Promise<ApiAnswer>])[] = [
        ['a module comes', () => api('PUT', `${route.uri}/compression`, { enabled: true })],
        ['a module changes', () => api('PUT', `${route.uri}/compression`, { enabled: false })],
        ['a module goes', () => api('DELETE', `${route.uri}/compression`)],
        ['a module of the edge comes', () => api('PUT', `${edge.uri}/tls_termination`, {})],
        ['a module of the edge goes', () => api('DELETE', `${edge.uri}/tls_termination`)],
        ['a route changes', () => api('PATCH', route.uri, { description: 'other' })],
        ['a route comes', () => api('POST', `${edge.uri}/routes`, { match_type: 'exact_path', match: '/more' })],
        ['a route goes', () => api('DELETE', route.uri)],
      ];
      for (const [what, change] of changes) {
        const seen = (await api('GET', edge.uri)).headers.get('etag') as string;
        const answer = await change();
        assert.ok(answer.status < 300, `${what}: ${answer.text}`);
        const now = (await api('GET', edge.uri)).headers.get('etag') as string;
        assert.ok(Number(now.slice(1, -1)) > Number(seen.slice(1, -1)), what);
        for (const [method, body] of [
          ['PATCH', { metadata: 'late' }],
          ['DELETE', undefined],
        ] as const) {
          const late = await api(method, edge.uri, body, { headers: { 'if-match': seen } });
          assert.equal(late.status, 412, `${method} after ${what}`);
        }
      }
      const { headers } = await api('GET', edge.uri);
      const last = await api(
        'PATCH',
        edge.uri,
        { metadata: 'in time' },
        { headers: { 'if-match': headers.get('etag') as string } },
      );
      assert.equal(last.status, 200);
    });

    test('a PATCH of an edge with If-Match never passes beside a concurrent module write', async () => {
      const edge = await makeEdge(world);
      const route = await makeRoute(world, edge);
      for (let round = 0; round < 10; round += 1) {
        const etag = (await api('GET', edge.uri)).headers.get('etag') as string;
        const [module, edgePatch] = await Promise.all([
          api('PUT', `${route.uri}/oidc`, oidcBody(round + 1)),
          api('PATCH', edge.uri, { metadata: `${round}` }, { headers: { 'if-match': etag } }),
        ]);
        assert.equal(module?.status, 200);
        const moduleRevision = Number(module?.headers.get('postern-revision'));
        if (edgePatch?.status === 200) assert.ok(Number(edgePatch.headers.get('postern-revision')) < moduleRevision);
        else assert.equal(edgePatch?.status, 412);
      }
    });

    test('one of the last two keys with all scopes survives a concurrent deletion or narrowing', async () => {
      const { body: listed } = await api('GET', '/api_keys');
      const bootstrap = listed.keys[0] as Made;
      let keeper: { id: string; uri: string; token: string } = { ...bootstrap, token: '' };
      for (let round = 0; round < 6; round += 1) {
        const key = keeper.token === '' ? {} : { key: keeper.token };
        const other = (await api('POST', '/api_keys', {}, key)).body as typeof keeper;
        // Each key deletes the other one, so neither loses its permission before it has acted.
        const byKeeper = { ...key };
        const byOther = { key: other.token };
        const drop = round % 2 === 0;
        const answers = await Promise.all(
          drop
            ? [api('DELETE', other.uri, undefined, byKeeper), api('DELETE', keeper.uri, undefined, byOther)]
            : [
                api('PATCH', other.uri, { scopes: ['edges:read'] }, byKeeper),
                api('PATCH', keeper.uri, { scopes: ['edges:read'] }, byOther),
              ],
        );
        const won = answers.filter(({ status }) => status < 300);
        assert.equal(won.length, 1, JSON.stringify(answers.map(({ status, text }) => [status, text])));
        const lost = answers.find(({ status }) => status >= 400) as ApiAnswer;
        assert.ok([401, 403, 409].includes(lost.status), lost.text);
        if (lost.status === 409) assert.equal(lost.body.error_code, 'ERR_POSTERN_LAST_API_KEY');
        if (answers[0]?.status !== undefined && answers[0].status >= 300) keeper = other;
        assert.equal(
          (await api('GET', keeper.uri, undefined, keeper.token === '' ? {} : { key: keeper.token })).status,
          200,
        );
      }
    });
  });
}

const UNSET_OIDC = {
  enabled: true,
  options_passthrough: false,
  cookie_prefix: '',
  inactivity_timeout: 0,
};

function parallel<Result>(count: number, task: (at: number) => Promise<Result>): Promise<Result[]> {
  return Promise.all(Array.from({ length: count }, (_, at) => task(at)));
}
