import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { EdgeWorld, newHost } from '../../support/edge-world.ts';
import { TestWorld } from '../../support/test-world.ts';
import { breakMutualTls, GONE } from './break-mutual-tls.ts';

const HEADER = 'postern-problem';
/** Enabled without an issuer: stored, but can admit nobody. */
const UNPREPARED = { client_id: 'app' };

const withEdge = (await EdgeWorld.open({ after })).world;
const withoutEdge = await TestWorld.open({ after });

for (const [role, world] of [
  ['a process with an edge', withEdge],
  ['a process without an edge', withoutEdge],
] as const) {
  const send = async (method: string, path: string, body?: unknown) => {
    const answer = await world.api(method, path, body);
    assert.ok(answer.status < 300, answer.text);
    return answer;
  };
  const why = async (path: string): Promise<string | null> => (await send('GET', path)).headers.get(HEADER);
  const newEdge = async (): Promise<string> => {
    const { body } = await send('POST', '/edges/https', { hostports: [`${newHost()}:443`] });
    return `/edges/https/${body.id}`;
  };
  const newRoute = async (edge: string, fields: object = {}) =>
    send('POST', `${edge}/routes`, { match_type: 'path_prefix', match: '/', ...fields });

  suite(role, () => {
    test('the write that breaks a route reports it, and so does every read of module, route and edge', async () => {
      const edge = await newEdge();
      const created = await newRoute(edge);
      assert.equal(created.headers.get(HEADER), null);
      const route = `${edge}/routes/${created.body.id}`;
      const put = await send('PUT', `${route}/oidc`, UNPREPARED);
      const line = put.headers.get(HEADER) ?? '';
      assert.match(line, /^oidc: [\x20-\x7e]{10,}$/);
      assert.equal(await why(`${route}/oidc`), line);
      assert.equal(await why(route), line);
      assert.equal(await why(edge), `${line} (${created.body.id})`);
      // The module is not blamed for other problems.
      await send('PUT', `${route}/compression`, {});
      assert.equal(await why(`${route}/compression`), null);
      assert.equal((await send('PATCH', route, { description: 'x' })).headers.get(HEADER), line);
      assert.equal(
        (await send('PATCH', edge, { description: 'x' })).headers.get(HEADER),
        `${line} (${created.body.id})`,
      );

      const off = await send('PUT', `${route}/oidc`, { ...UNPREPARED, enabled: false });
      assert.equal(off.headers.get(HEADER), null);
      for (const path of [`${route}/oidc`, route, edge]) assert.equal(await why(path), null, path);
    });

    test('a module that can be prepared has none', async () => {
      const edge = await newEdge();
      const { body } = await newRoute(edge);
      const oidc = { issuer: 'https://accounts.example.com', client_id: 'app' };
      const put = await send('PUT', `${edge}/routes/${body.id}/oidc`, oidc);
      assert.equal(put.headers.get(HEADER), null);
      assert.equal(await why(edge), null);
    });

    test('a create that is broken from the start reports it, also when it is replayed', async () => {
      const edge = await newEdge();
      const key = { headers: { 'idempotency-key': `${Math.random()}` } };
      const body = { match_type: 'path_prefix', match: '/', oidc: UNPREPARED };
      for (const replayed of [null, 'true']) {
        const answer = await world.api('POST', `${edge}/routes`, body, key);
        assert.equal(answer.status, 201, answer.text);
        assert.match(answer.headers.get(HEADER) ?? '', /^oidc: /);
        assert.equal(answer.headers.get('idempotent-replayed'), replayed);
      }
    });

    test('it disappears with the module, the route and the edge', async () => {
      const edge = await newEdge();
      const routes = await Promise.all(
        ['/a', '/b'].map(async (match) => {
          const { body } = await newRoute(edge, { match, oidc: UNPREPARED });
          return `${edge}/routes/${body.id}`;
        }),
      );
      assert.equal(count((await why(edge)) ?? ''), 2);
      await send('DELETE', `${routes[0]}/oidc`);
      assert.equal(await why(routes[0] ?? ''), null);
      assert.equal(count((await why(edge)) ?? ''), 1);
      await send('DELETE', routes[1] ?? '');
      assert.equal(await why(edge), null);
      const { body: last } = await newRoute(edge, { match: '/c', oidc: UNPREPARED });
      assert.match((await world.api('GET', '/metrics')).text, new RegExp(`unprepared_modules.*${last.id}`));
      await send('DELETE', edge);
      assert.doesNotMatch((await world.api('GET', '/metrics')).text, new RegExp(`unprepared_modules.*${last.id}`));
    });

    test('the line stays short with any number of broken routes, and counts those it omits', async () => {
      const edge = await newEdge();
      for (let index = 0; index < 30; index += 1) await newRoute(edge, { match: `/${index}`, oidc: UNPREPARED });
      const line = (await why(edge)) ?? '';
      assert.ok(line.length < 1100, `${line.length}`);
      const [, left = ''] = /; and (\d+) more$/.exec(line) ?? [];
      assert.equal(count(line) + Number(left), 30);
    });

    test('the metrics name edge, route, module and reason while the problem lasts', async () => {
      const edge = await newEdge();
      const { body } = await newRoute(edge, { oidc: UNPREPARED });
      const sample = new RegExp(
        `^postern_unprepared_modules\\{edge="${edge.split('/').at(-1)}",route="${body.id}",module="oidc",reason="[^\n]+"\\} 1$`,
        'm',
      );
      assert.match((await world.api('GET', '/metrics')).text, sample);
      await send('PUT', `${edge}/routes/${body.id}/oidc`, { enabled: false });
      assert.doesNotMatch((await world.api('GET', '/metrics')).text, sample);
    });

    test('a module of the edge is reported for the edge and each of its routes', async () => {
      const edge = await newEdge();
      const edgeId = edge.split('/').at(-1) as string;
      const { body } = await newRoute(edge, { oidc: UNPREPARED });
      await breakMutualTls(world, edgeId, [GONE]);
      assert.match(
        (await why(`${edge}/mutual_tls`)) ?? '',
        /^mutual_tls: the certificate authority ca_\w+ .* does not exist/,
      );
      assert.match((await why(edge)) ?? '', new RegExp(`^mutual_tls: .*; oidc: .* \\(${body.id}\\)$`));
      assert.match((await why(`${edge}/routes/${body.id}`)) ?? '', /^mutual_tls: .*; oidc: (?!.*\(edghtsrt_)/);
      assert.match((await why(`${edge}/routes/${body.id}/oidc`)) ?? '', /^oidc: (?!.*mutual_tls)/);
    });
  });
}

test('the next process reports what the last one left behind', async (t) => {
  const { body: edge } = await withEdge.api('POST', '/edges/https', { hostports: [`${newHost()}:443`] });
  const { body: route } = await withEdge.api('POST', `/edges/https/${edge.id}/routes`, {
    match_type: 'path_prefix',
    match: '/',
    oidc: UNPREPARED,
  });
  await withEdge.close();
  const next = await TestWorld.open(t, { dataDir: withEdge.dataDir });
  const answer = await next.api('GET', `/edges/https/${edge.id}/routes/${route.id}`);
  assert.match(answer.headers.get(HEADER) ?? '', /^oidc: /);
});

/** Routes listed in an edge's line. */
function count(line: string): number {
  return line.match(/ \(edghtsrt_\w+\)/g)?.length ?? 0;
}
