import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { freshDatabase, startPostgres } from '../support/postgres.ts';
import { type ApiAnswer, TestWorld } from '../support/test-world.ts';

const postgres = await startPostgres();
after(() => postgres.stop());

const OURS = 'ours.example.com:80';
const THEIRS = 'theirs.example.com:80';
const SECRET = { add: { authorization: 'Bearer planted' } };

interface Moved {
  readonly ours: string;
  readonly theirs: string;
  readonly outer: string;
  readonly path: string;
}

/** The rows about secret headers of docs/internals/decisions/0051. */
for (const engine of ['sqlite', 'postgres'] as const) {
  suite(`where a revert sends secret headers on ${engine}`, async () => {
    const databaseUrl = engine === 'postgres' ? (await freshDatabase(postgres)).url : undefined;
    const world = await TestWorld.open({ after }, databaseUrl === undefined ? {} : { databaseUrl });

    const ok = async (method: string, path: string, body?: object, key?: string): Promise<ApiAnswer> => {
      const answer = await world.api(method, path, body, key === undefined ? {} : { key });
      assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`);
      return answer;
    };
    const wait = async (key: string, method: string, path: string, body?: object): Promise<number> =>
      (await ok('POST', '/changesets', { operations: [{ method, path, body }], confirm_within: '24h' }, key)).body
        .revision;
    const withdraw = (revision: number, key?: string) => ok('POST', `/changes/${revision}/revert`, {}, key);
    /** By every way, and for everybody: also a key with all scopes would decide for the revert. */
    const held = async (key: string, method: string, path: string, body: object): Promise<void> => {
      const operations = [{ method, path, body }];
      for (const options of [{ key }, {}]) {
        for (const answer of [
          await world.api(method, path, body, options),
          await world.api('POST', '/changesets', { operations }, options),
          await world.api('POST', '/changesets', { operations, dry_run: true }, options),
        ]) {
          assert.deepEqual([answer.status, answer.body.error_code], [409, 'ERR_POSTERN_CHANGE_PENDING'], answer.text);
        }
      }
    };
    const backend = async (address: string): Promise<string> =>
      (await ok('POST', '/backends/static', { address })).body.id;
    let sites = 0;
    const site = async (backendId: string, fields: object = { request_headers: SECRET }): Promise<string> => {
      sites += 1;
      const edge = await ok('POST', '/edges/https', { hostports: [`site${sites}.example.com:443`] });
      const routes = `/edges/https/${edge.body.id}/routes`;
      const route = { match: '/', match_type: 'path_prefix', backend: { backend_id: backendId }, ...fields };
      return `${routes}/${(await ok('POST', routes, route)).body.id}`;
    };
    const { token } = (
      await ok('POST', '/api_keys', { scopes: ['edges:read', 'edges:write', 'backends:write', 'changes:write'] })
    ).body;
    const placeOf = async (path: string) => {
      const { id } = (await ok('GET', path)).body.backend.backend;
      return (await ok('GET', `/backends/static/${id}`)).body.address;
    };

    for (const [what, below] of [
      ['header', '/request_headers'],
      ['route', ''],
    ] as const) {
      test(`while a change that deletes a ${what} waits, its upstream stays`, async () => {
        const [ours, theirs] = [await backend(OURS), await backend(THEIRS)];
        const path = await site(ours);
        const revision = await wait(token, 'DELETE', `${path}${below}`);
        await held(token, 'PATCH', `/backends/static/${ours}`, { address: THEIRS });
        if (below !== '') {
          await held(token, 'PUT', `${path}/backend`, { backend_id: theirs });
          await held(token, 'PATCH', path, { backend: { backend_id: theirs } });
        }
        await ok('PATCH', `/backends/static/${ours}`, { description: 'the same place' }, token);
        await ok('PATCH', `/backends/static/${theirs}`, { address: 'elsewhere.example.com:80' }, token);
        await withdraw(revision);
        assert.equal((await ok('GET', path)).body.request_headers.add.authorization, SECRET.add.authorization);
        assert.equal(await placeOf(path), OURS);
      });
    }

    for (const what of ['/request_headers', ''])
      test(`the author of a change that deletes a secret (${what || 'the route'}) takes it back, and nothing else`, async () => {
        const [ours, theirs] = [await backend(OURS), await backend(THEIRS)];
        const path = await site(ours);
        const revision = await wait(token, 'DELETE', `${path}${what}`);
        await held(token, 'PATCH', `/backends/static/${ours}`, { address: THEIRS });
        await withdraw(revision, token);
        assert.equal((await ok('GET', path)).body.request_headers.add.authorization, SECRET.add.authorization);
        assert.equal(await placeOf(path), OURS);
        // Once it is over, a revert is no way to bring the secret back to another place.
        const deleted = (await ok('DELETE', `${path}${what}`, undefined, token)).headers.get('postern-revision');
        if (what === '') await ok('PATCH', `/backends/static/${ours}`, { address: THEIRS }, token);
        else await ok('PUT', `${path}/backend`, { backend_id: theirs }, token);
        for (const [way, status] of [
          [`/changes/${revision}/revert`, 409],
          [`/changes/${deleted}/revert`, 409],
          [`/changes/${deleted}/undo`, 403],
          [`/changes/${revision}/undo`, 403],
        ] as const) {
          const answer = await world.api('POST', way, way.endsWith('undo') ? { force: true } : {}, { key: token });
          assert.equal(answer.status, status, `${way}: ${answer.text}`);
        }
      });

    test('a moved upstream that waits takes no secret to its earlier place when its author takes it back', async () => {
      const moving = await backend(THEIRS);
      const path = await site(await backend(OURS));
      const revision = await wait(token, 'PATCH', `/backends/static/${moving}`, { address: OURS });
      await held(token, 'PUT', `${path}/backend`, { backend_id: moving });
      await withdraw(revision, token);
      assert.equal(await placeOf(path), OURS);
      const answer = await world.api('PUT', `${path}/backend`, { backend_id: moving }, { key: token });
      assert.equal(answer.status, 403, answer.text);
    });

    test('an undo does not move the upstream meanwhile', async () => {
      const ours = await backend(THEIRS);
      const moved = await ok('PATCH', `/backends/static/${ours}`, { address: OURS });
      const path = await site(ours);
      const revision = await wait(token, 'DELETE', `${path}/request_headers`);
      const undo = `/changes/${moved.headers.get('postern-revision')}/undo`;
      const answer = await world.api('POST', undo, { force: true }, { key: token });
      assert.deepEqual([answer.status, answer.body.error_code], [409, 'ERR_POSTERN_CHANGE_PENDING'], answer.text);
      await withdraw(revision);
      assert.equal(await placeOf(path), OURS);
    });

    test('while another upstream is tried, no secret is set that the revert would send to the earlier one', async () => {
      const [ours, theirs] = [await backend(OURS), await backend(THEIRS)];
      const path = await site(theirs, {});
      const revision = await wait(token, 'PUT', `${path}/backend`, { backend_id: ours });
      await held(token, 'PUT', `${path}/request_headers`, SECRET);
      await ok('PUT', `${path}/request_headers`, { add: { 'x-plain': 'y' } }, token);
      await withdraw(revision);
      await ok('PUT', `${path}/request_headers`, SECRET, token);
    });

    test('a route with a secret does not get a backend whose earlier address is another place', async () => {
      const [ours, lent] = [await backend(OURS), await backend(THEIRS)];
      const path = await site(ours);
      const weighted = { backends: { [lent]: 1 } };
      const group = (await ok('POST', '/backends/weighted', weighted)).body.id;
      const revision = await wait(token, 'PATCH', `/backends/static/${lent}`, { address: OURS });
      await held(token, 'PUT', `${path}/backend`, { backend_id: lent });
      await held(token, 'PUT', `${path}/backend`, { backend_id: group });
      await withdraw(revision);
      assert.equal(await placeOf(path), OURS);
    });

    test('a guess at a secret header is answered alike, whether it is right or wrong', async () => {
      const [ours, theirs] = [await backend(OURS), await backend(THEIRS)];
      const path = await site(ours);
      const asked = async (authorization: string, fields: object = {}): Promise<string> => {
        const body = { request_headers: { add: { authorization } }, ...fields };
        const operations = [{ method: 'PATCH', path, body }];
        const { status, body: answer } = await world.api(
          'POST',
          '/changesets',
          { operations, dry_run: true },
          { key: token },
        );
        const { msg = '', details: { operation = '' } = {} } = answer;
        return `${status} ${operation} ${msg}`.trim();
      };
      const alike = async (status: string, fields?: object): Promise<void> => {
        const answers = [await asked(SECRET.add.authorization, fields), await asked('Bearer wrong', fields)];
        assert.equal(answers[0], answers[1]);
        assert.equal(answers[0]?.slice(0, 3), status);
      };
      await alike('200');
      await alike('200', { backend: { backend_id: theirs } });
      // Held by the key's own trial of the same module, and where the revert would send it.
      const kept = { add: { 'x-plain': '1', authorization: '' } };
      const trial = await wait(token, 'PUT', `${path}/request_headers`, kept);
      await alike('409');
      await withdraw(trial, token);
      const both = (await ok('POST', '/backends/weighted', { backends: { [ours]: 1, [theirs]: 1 } })).body.id;
      await ok('PUT', `${path}/backend`, { backend_id: both });
      const fewer = await wait(token, 'PATCH', `/backends/weighted/${both}`, { backends: { [ours]: 1 } });
      await alike('409');
      await withdraw(fewer, token);
    });

    const confirmed = async (revision: number, key?: string): Promise<readonly [number, string | undefined]> => {
      const options = key === undefined ? {} : { key };
      const { status, body } = await world.api('POST', `/changes/${revision}/confirm`, {}, options);
      return [status, body.details?.scope];
    };

    for (const [what, change] of [
      ['address', (on: Moved) => ['PATCH', `/backends/static/${on.ours}`, { address: THEIRS }]],
      ['backend', (on: Moved) => ['PUT', `${on.path}/backend`, { backend_id: on.theirs }]],
      ['member', (on: Moved) => ['PATCH', `/backends/failover/${on.outer}`, { backends: [on.ours, on.theirs] }]],
    ] as const) {
      test(`a key without secrets:read does not confirm another ${what} for a secret header`, async () => {
        const [ours, theirs] = [await backend(OURS), await backend(THEIRS)];
        const outer = (await ok('POST', '/backends/failover', { backends: [ours] })).body.id;
        const path = await site(what === 'member' ? outer : ours);
        const [method, at, body] = change({ ours, theirs, outer, path }) as [string, string, object];
        const operations = [{ method, path: at, body }];
        const { revision } = (await ok('POST', '/changesets', { operations, confirm_within: '24h' })).body;
        assert.deepEqual(await confirmed(revision, token), [403, 'secrets:read']);
        assert.deepEqual(await confirmed(revision), [200, undefined]);
      });
    }

    test('it confirms fewer places, and its own change that sends the secret again', async () => {
      const [ours, theirs] = [await backend(OURS), await backend(THEIRS)];
      const both = (await ok('POST', '/backends/weighted', { backends: { [ours]: 1, [theirs]: 1 } })).body.id;
      const path = await site(both);
      const fewer = [{ method: 'PUT', path: `${path}/backend`, body: { backend_id: ours } }];
      const first = await ok('POST', '/changesets', { operations: fewer, confirm_within: '24h' });
      assert.deepEqual(await confirmed(first.body.revision, token), [200, undefined]);
      const sent = await wait(token, 'PATCH', path, {
        request_headers: SECRET,
        backend: { backend_id: theirs },
      });
      assert.deepEqual(await confirmed(sent, token), [200, undefined]);
    });
  });
}
