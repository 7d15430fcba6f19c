import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { after, suite, test } from 'node:test';
import { freshDatabase, startPostgres } from '../support/postgres.ts';
import { type ApiAnswer, TEST_API_KEY, TestWorld } from '../support/test-world.ts';

const postgres = await startPostgres();
after(() => postgres.stop());

const idOf = (operation: number): string => `$\{${operation}.id}`;
const ref = (operation: number) => ({ $ref: operation, field: 'id' });

function site(host: string, text: string) {
  return [
    { method: 'POST', path: '/backends/http_response', body: { body: text } },
    { method: 'POST', path: '/edges/https', body: { hostports: [`${host}:443`] } },
    {
      method: 'POST',
      path: `/edges/https/${idOf(1)}/routes`,
      body: { match: '/', match_type: 'path_prefix', backend: { backend_id: ref(0) } },
    },
  ];
}

for (const engine of ['sqlite', 'postgres'] as const) {
  suite(`changesets on ${engine}`, async () => {
    const databaseUrl = engine === 'postgres' ? (await freshDatabase(postgres)).url : undefined;
    const world = await TestWorld.open({ after }, databaseUrl === undefined ? {} : { databaseUrl });
    const run = (operations: readonly object[], more: object = {}): Promise<ApiAnswer> =>
      world.api('POST', '/changesets', { operations, ...more });
    const applied = async (operations: readonly object[], more: object = {}) => {
      const answer = await run(operations, more);
      assert.equal(answer.status, 200, answer.text);
      return answer.body;
    };
    const counts = async () => {
      const lists = ['/edges/https', '/backends/http_response', '/api_keys'].map((path) => world.api('GET', path));
      const [edges, backends, keys] = await Promise.all(lists);
      return [edges?.body.https_edges.length, backends?.body.backends.length, keys?.body.keys.length];
    };
    const revision = async (): Promise<number> => {
      const { body } = await run([], { dry_run: true });
      return body.revision;
    };

    test('make an edge with its route in one revision', async () => {
      const before = await revision();
      const { body, headers } = await run(site('whole.example.com', 'whole'));
      assert.deepEqual(
        [body.revision, body.dry_run, body.results.map((each: { status: number }) => each.status)],
        [before + 1, false, [201, 201, 201]],
      );
      assert.equal(headers.get('postern-revision'), String(before + 1));
      const [backend, edge, route] = body.results.map((each: { body: object }) => each.body);
      assert.equal(route.edge_id, edge.id);
      assert.equal(route.backend.backend.id, backend.id);
      const read = await world.api('GET', `/edges/https/${edge.id}`);
      assert.deepEqual(
        read.body.routes.map((each: { id: string }) => each.id),
        [route.id],
      );
    });

    test('show each operation what the earlier ones did', async () => {
      const { results } = await applied([
        ...site('steps.example.com', 'one'),
        { method: 'PATCH', path: `/backends/http_response/${idOf(0)}`, body: { body: 'two' } },
        { method: 'PUT', path: `/edges/https/${idOf(1)}/routes/${idOf(2)}/compression`, body: { enabled: true } },
        { method: 'DELETE', path: `/edges/https/${idOf(1)}/routes/${idOf(2)}/compression` },
        { method: 'PATCH', path: `/edges/https/${idOf(1)}`, body: { description: 'changed' } },
        { method: 'DELETE', path: `/edges/https/${idOf(1)}/routes/${idOf(2)}` },
      ]);
      const [backend, edge] = [results[3].body, results[6].body];
      assert.deepEqual([backend.body, edge.description, edge.routes.length], ['two', 'changed', 1]);
      const read = await world.api('GET', `/edges/https/${edge.id}`);
      assert.deepEqual([read.body.description, read.body.routes], ['changed', []]);
      assert.equal((await world.api('GET', `/backends/http_response/${backend.id}`)).body.body, 'two');
    });

    test('delete what they made, with everything below it', async () => {
      const before = await counts();
      const { results } = await applied([
        ...site('gone.example.com', 'gone'),
        { method: 'PUT', path: `/edges/https/${idOf(1)}/routes/${idOf(2)}/compression`, body: { enabled: true } },
        { method: 'DELETE', path: `/edges/https/${idOf(1)}` },
        { method: 'DELETE', path: `/backends/http_response/${idOf(0)}` },
      ]);
      assert.deepEqual(results.at(-1), { status: 204, body: null });
      assert.deepEqual(await counts(), before);
    });

    test('move a unique name from one resource to another', async () => {
      const [, edge] = (await applied(site('moving.example.com', 'x'))).results;
      const { results } = await applied([
        { method: 'PATCH', path: `/edges/https/${edge.body.id}`, body: { hostports: ['moved.example.com:443'] } },
        { method: 'POST', path: '/edges/https', body: { hostports: ['moving.example.com:443'] } },
      ]);
      assert.deepEqual(results[1].body.hostports, ['moving.example.com:443']);
    });

    test('store nothing when one operation fails, and name it', async () => {
      await applied(site('taken.example.com', 'x'));
      const before = [await revision(), await counts()];
      const cases: readonly [number, string, readonly object[], string][] = [
        [
          400,
          '1',
          [...site('a.example.com', 'x').slice(0, 1), { method: 'POST', path: '/edges/https', body: { hostports: 7 } }],
          'ERR_POSTERN_INVALID_BODY',
        ],
        [
          409,
          '1',
          [
            site('b.example.com', 'x')[0] as object,
            { method: 'POST', path: '/edges/https', body: { hostports: ['taken.example.com:443'] } },
          ],
          'ERR_POSTERN_ALREADY_EXISTS',
        ],
        [
          409,
          '1',
          [
            { method: 'POST', path: '/edges/https', body: { hostports: ['c.example.com:443'] } },
            { method: 'POST', path: '/edges/https', body: { hostports: ['c.example.com:443'] } },
          ],
          'ERR_POSTERN_ALREADY_EXISTS',
        ],
        [
          409,
          '3',
          [...site('d.example.com', 'x'), { method: 'DELETE', path: `/backends/http_response/${idOf(0)}` }],
          'ERR_POSTERN_IN_USE',
        ],
        [400, '0', [{ method: 'POST', path: '/edges/https/x', body: {} }], 'ERR_POSTERN_INVALID_BODY'],
        [
          400,
          '0',
          [{ method: 'PATCH', path: `/backends/http_response/${idOf(0)}`, body: {} }],
          'ERR_POSTERN_INVALID_BODY',
        ],
        [
          400,
          '1',
          [
            site('e.example.com', 'x')[0] as object,
            { method: 'POST', path: '/edges/https', body: { description: { $ref: 0, field: 'nothing' } } },
          ],
          'ERR_POSTERN_INVALID_BODY',
        ],
        [
          404,
          '0',
          [{ method: 'DELETE', path: '/edges/https/edghts_000000000000000000000000000' }],
          'ERR_POSTERN_NOT_FOUND',
        ],
      ];
      for (const [status, operation, operations, code] of cases) {
        const { status: got, body } = await run(operations);
        assert.deepEqual([got, body.details?.operation, body.error_code], [status, operation, code], body.msg);
      }
      assert.deepEqual([await revision(), await counts()], before);
    });

    test('refuse reads, actions, queries and unknown fields', async () => {
      for (const operation of [
        { method: 'GET', path: '/edges/https' },
        { method: 'POST', path: '/changesets', body: { operations: [] } },
        { method: 'POST', path: '/edges/https?x=1', body: {} },
        { method: 'POST', path: '//edges/https', body: {} },
        { method: 'POST', path: '/edges/https', body: [], more: 1 },
        { method: 'POST', path: '/event_destinations/ed_000000000000000000000000000/test', body: {} },
      ]) {
        assert.equal((await run([operation])).status, 400, JSON.stringify(operation));
      }
      for (const body of [
        {},
        { operations: {} },
        { operations: [], dry_run: 'yes' },
        { operations: [], expected_revision: -1 },
        { operations: [], unknown: 1 },
      ]) {
        assert.equal((await world.api('POST', '/changesets', body)).status, 400, JSON.stringify(body));
      }
    });

    test('refuse an expected revision that has moved, in a dry run too', async () => {
      const at = await revision();
      await applied(site('moves.example.com', 'x'), { expected_revision: at });
      for (const dry_run of [false, true]) {
        const { status, body } = await run(site('late.example.com', 'x'), { expected_revision: at, dry_run });
        assert.deepEqual(
          [status, body.error_code, body.details.revision],
          [412, 'ERR_POSTERN_PRECONDITION_FAILED', String(at + 1)],
        );
      }
    });

    test('validate everything in a dry run and store nothing', async () => {
      const before = [await revision(), await counts()];
      const { results, dry_run } = await applied(
        [...site('dry.example.com', 'x'), { method: 'POST', path: '/api_keys', body: { description: 'dry' } }],
        { dry_run: true },
      );
      assert.equal(dry_run, true);
      assert.equal(results[3].body.token, null, 'a token of a key that does not exist');
      const taken = await run(
        [{ method: 'POST', path: '/edges/https', body: { hostports: ['moves.example.com:443'] } }],
        { dry_run: true },
      );
      assert.deepEqual([taken.status, taken.body.details.operation], [409, '0']);
      assert.deepEqual([await revision(), await counts()], before);
    });

    test('check the scope of each operation', async () => {
      const key = await world.api('POST', '/api_keys', { description: 'edges', scopes: ['edges:write'] });
      const options = { key: key.body.token };
      const edge = { method: 'POST', path: '/edges/https', body: {} };
      assert.equal((await world.api('POST', '/changesets', { operations: [edge] }, options)).status, 200);
      const { status, body } = await world.api(
        'POST',
        '/changesets',
        { operations: [edge, { method: 'POST', path: '/ip_policies', body: {} }] },
        options,
      );
      assert.deepEqual([status, body.details.operation, body.details.scope], [403, '1', 'ip_policies:write']);
    });

    test('let a key claim only what it may write', async () => {
      const keyWith = async (...scopes: string[]): Promise<string> =>
        (await world.api('POST', '/api_keys', { scopes })).body.token;
      const [{ body: backend }, { body: own }] = (await applied(site('claimed.example.com', 'x'))).results;
      const unknown = `${backend.id.split('_')[0]}_${'0'.repeat(27)}`;
      const full = (await world.api('POST', '/api_keys', { scopes: ['*'] })).body.id;
      const [reader, writer, keys] = [
        await keyWith('backends:read'),
        await keyWith('ip_policies:write'),
        await keyWith('api_keys:write'),
      ];
      const claim = (key: string, id: string, more: object = {}) => {
        const owner = { name: 'thief', claims: [{ id, name: 'x' }], take_over: true };
        return world.api('POST', '/changesets', { operations: [], owner, ...more }, { key });
      };
      await applied([], { owner: { name: 'team', claims: [{ id: backend.id, name: 'mine' }] } });
      const bothWriter = await keyWith('backends:read', 'ip_policies:write');
      for (const [key, id, scope] of [
        [reader, backend.id, '*'],
        [writer, backend.id, 'backends:write'],
        [writer, unknown, 'backends:write'],
        [bothWriter, backend.id, 'backends:write'],
        [keys, full, '*'],
      ]) {
        for (const more of [{}, { dry_run: true }]) {
          const { status, body } = await claim(key, id, more);
          assert.deepEqual([status, body.details?.scope], [403, scope], body.msg);
        }
      }
      const [known, missing] = [await claim(writer, backend.id), await claim(writer, unknown)];
      assert.equal(known.body.msg, missing.body.msg);
      assert.equal((await claim(await keyWith('edges:write'), own.id)).status, 200);
      const { claims } = (await world.api('GET', '/changesets/claims')).body;
      const ownerOf = (id: string) => claims.find((each: { id: string }) => each.id === id)?.owner;
      assert.deepEqual([ownerOf(backend.id), ownerOf(own.id), ownerOf(full)], ['team', 'thief', undefined]);
      // An export asks for the revision in this way.
      const question = { operations: [], dry_run: true };
      assert.equal((await world.api('POST', '/changesets', question, { key: reader })).status, 200);
      const empty = await world.api('POST', '/changesets', { operations: [], confirm_within: '1h' }, { key: reader });
      assert.equal(empty.status, 403);
    });

    test('refuse a large body of a key that cannot write before it is read', async () => {
      const { token } = (await world.api('POST', '/api_keys', { scopes: ['*:read'] })).body;
      const { host, port } = world.server.addresses.api;
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'service-version': '2' };
      for (const framing of [{ 'content-length': '60000000' }, { 'transfer-encoding': 'chunked' }]) {
        const sent = request({ host, port, method: 'POST', path: '/changesets', headers: { ...headers, ...framing } });
        sent.flushHeaders();
        const [answer] = (await once(sent, 'response')) as [IncomingMessage];
        assert.equal(answer.statusCode, 403);
        sent.destroy();
      }
    });

    test('refuse a body of more than 64 MiB before it is read', async () => {
      const { host, port } = world.server.addresses.api;
      const headers = {
        authorization: `Bearer ${TEST_API_KEY}`,
        'content-type': 'application/json',
        'service-version': '2',
        'content-length': String(64 * 1024 * 1024 + 1),
      };
      const sent = request({ host, port, method: 'POST', path: '/changesets', headers });
      sent.flushHeaders();
      const [answer] = (await once(sent, 'response')) as [IncomingMessage];
      assert.equal(answer.statusCode, 413);
      sent.destroy();
    });

    test('apply a thousand operations', async () => {
      const before = await revision();
      const operations = Array.from({ length: 500 }, (_, at) => [
        { method: 'POST', path: '/backends/http_response', body: { body: String(at) } },
        { method: 'POST', path: '/edges/https', body: { hostports: [`many-${at}.example.com:443`] } },
      ]).flat();
      const { results, revision: after } = await applied(operations);
      assert.deepEqual([results.length, after], [1_000, before + 1]);
    });

    test('compete: writers of one resource lose nothing', async () => {
      const [backend] = (await applied(site('race.example.com', 'x'))).results;
      const path = `/backends/http_response/${backend.body.id}`;
      const answers = await Promise.all(
        Array.from({ length: 8 }, (_, at) => [
          run([{ method: 'PATCH', path, body: { description: `by ${at}` } }]),
          world.api('PATCH', path, { metadata: `by ${at}` }),
        ]).flat(),
      );
      for (const answer of answers) assert.ok([200, 409].includes(answer.status), answer.text);
      assert.ok(answers.some((answer) => answer.status === 200));
    });
  });
}
