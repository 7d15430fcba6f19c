import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { TOKEN_USE_KIND, tokenUseId } from '../../src/modules/service-account-records.ts';
import { backupStore } from '../../src/store/backup/backup-store.ts';
import { restoreStore } from '../../src/store/backup/restore-store.ts';
import type { StoreLocation } from '../../src/store/offline-database.ts';
import { PENDING_CHANGE } from '../../src/store/own-records.ts';
import { until } from '../support/cluster.ts';
import { freshDatabase, startPostgres } from '../support/postgres.ts';
import { startServerProcess } from '../support/server-process.ts';
import { tempDir } from '../support/temp-dir.ts';
import { type ApiAnswer, TEST_API_KEY, TestWorld } from '../support/test-world.ts';

const postgres = await startPostgres();
after(() => postgres.stop());

const OIDC = { issuer: 'https://accounts.example.com', client_id: 'id', client_secret: 'planted-secret' };
const headers = { authorization: `Bearer ${TEST_API_KEY}`, 'service-version': '2', 'content-type': 'application/json' };
const operation = (method: string, path: string, body?: object) => ({ method, path, ...(body && { body }) });
const ids = (answer: ApiAnswer): string[] => answer.body.results.map((each: ApiAnswer) => each.body?.id);

for (const engine of ['sqlite', 'postgres'] as const) {
  suite(`a change that waits for its confirmation on ${engine}`, async () => {
    const databaseUrl = engine === 'postgres' ? (await freshDatabase(postgres)).url : undefined;
    let aheadMs = 0;
    const clock = { nowMs: () => Date.now() + aheadMs };
    const world = await TestWorld.open({ after }, { clock, ...(databaseUrl !== undefined && { databaseUrl }) });

    const ok = async (method: string, path: string, body?: object): Promise<ApiAnswer> => {
      const answer = await world.api(method, path, body);
      assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`);
      return answer;
    };
    const apply = (operations: readonly object[], more: object = {}): Promise<ApiAnswer> =>
      ok('POST', '/changesets', { operations, confirm_within: '5m', ...more });
    const confirm = (revision: number, body: object = {}): Promise<ApiAnswer> =>
      world.api('POST', `/changes/${revision}/confirm`, body);
    const refused = async (answer: Promise<ApiAnswer> | ApiAnswer, status = 409, code = 'CHANGE_PENDING') => {
      const { status: got, body } = await answer;
      assert.deepEqual([got, body?.error_code], [status, `ERR_POSTERN_${code}`], body?.msg);
      return body;
    };
    const pending = async () => (await ok('GET', '/changes?limit=1')).body.pending;
    const timePasses = async () => {
      aheadMs += 300_001;
      await until('the change is reverted', async () => (await pending()) === null);
    };
    /** Every stored document by its key, without the revisions. */
    const documents = () => {
      const { replica } = world.server;
      const all = [...replica.kinds()].flatMap((kind) => [...replica.all(kind)]);
      return new Map(all.map(({ kind, id, parent, doc, secrets }) => [`${kind} ${id}`, { parent, doc, secrets }]));
    };
    const site = async (name: string) => {
      const backend = (await ok('POST', '/backends/http_response', { body: name })).body.id;
      const edge = (await ok('POST', '/edges/https', { hostports: [`${name}.example.com:443`] })).body.id;
      const routes = `/edges/https/${edge}/routes`;
      const body = { match: '/', match_type: 'path_prefix', backend: { backend_id: backend }, oidc: OIDC };
      const route = (await ok('POST', routes, body)).body.id;
      return { backend, edge, route, edgePath: `/edges/https/${edge}`, routePath: `${routes}/${route}` };
    };

    test('names its author and its end to others, who can revert it early with the rights of its documents', async () => {
      const answer = await apply([operation('POST', '/ip_policies', { description: 'held' })], {
        confirm_within: '24h',
      });
      const { revision, pending: waiting } = answer.body;
      const [policy] = ids(answer);
      const other = { operations: [operation('POST', '/backends/http_response', { body: 'x' })], confirm_within: '1m' };
      const { msg, details } = await refused(world.api('POST', '/changesets', other));
      const { id: author } = (await ok('GET', `/changes/${revision}`)).body.author;
      assert.deepEqual(details, {
        ...details,
        revision: String(revision),
        author_id: author,
        confirm_by: waiting.confirm_by,
      });
      assert.match(
        msg,
        new RegExp(`${revision} still waits .* until ${waiting.confirm_by} \\(made by ${author}\\), .*/revert`),
      );
      const keyWith = async (scope: string): Promise<string> =>
        (await ok('POST', '/api_keys', { scopes: ['changes:write', scope] })).body.token;
      const revert = async (scope: string): Promise<ApiAnswer> =>
        world.api('POST', `/changes/${revision}/revert`, {}, { key: await keyWith(scope) });
      assert.equal((await revert('backends:write')).status, 403);
      assert.notEqual(await pending(), null);
      const { status, body } = await revert('ip_policies:write');
      assert.deepEqual([status, body.reverts, body.skipped], [200, revision, []]);
      assert.equal((await world.api('GET', `/ip_policies/${policy}`)).status, 404);
      assert.equal(await pending(), null);
      const [entry] = (await ok('GET', '/changes?limit=1')).body.changes;
      assert.deepEqual([entry.author.via, entry.message], ['revert', `revert of revision ${revision}`]);
      await refused(revert('ip_policies:write'), 409, 'NOT_PENDING');
      await ok('POST', `/changes/${(await apply(other.operations)).body.revision}/revert`, {});
    });

    test('stays when it is confirmed, and tells until when and how', async () => {
      const before = clock.nowMs();
      const answer = await apply([operation('POST', '/ip_policies', { description: 'kept' })], { message: 'try it' });
      const { revision, pending: waiting } = answer.body;
      assert.deepEqual(
        [waiting.revision, waiting.confirm_uri],
        [revision, `${world.baseUrl}/changes/${revision}/confirm`],
      );
      const inMs = Date.parse(waiting.confirm_by) - before;
      assert.ok(inMs >= 299_000 && inMs < 360_000, waiting.confirm_by);
      const listed = await ok('GET', '/changes?limit=1');
      assert.deepEqual(listed.body.pending, waiting);
      assert.equal(listed.body.changes[0].confirm_by, waiting.confirm_by);
      const confirmed = await confirm(revision, { message: 'works' });
      assert.deepEqual([confirmed.status, confirmed.body], [200, { revision: revision + 1, confirms: revision }]);
      assert.equal(confirmed.headers.get('postern-revision'), String(revision + 1));
      const { body } = await ok('GET', '/changes?limit=2');
      assert.deepEqual([body.pending, body.changes[1].confirm_by], [null, null]);
      const { message, author, objects } = body.changes[0];
      assert.deepEqual([message, author.via, objects], ['works', 'confirm', []]);
      aheadMs += 300_001;
      await refused(confirm(revision), 409, 'NOT_PENDING');
      await ok('GET', `/ip_policies/${ids(answer)[0]}`);
      assert.equal((await ok('GET', '/changes/verification')).body.intact, true);
    });

    test('is reverted as a change of its own when the time is over', async () => {
      const { backend, edgePath, routePath } = await site('back');
      const before = documents();
      const { body } = await apply([
        operation('PATCH', `/backends/http_response/${backend}`, { body: 'other' }),
        operation('PUT', `${routePath}/oidc`, { ...OIDC, client_secret: 'another' }),
        operation('PATCH', edgePath, { hostports: ['elsewhere.example.com:443'] }),
        operation('POST', '/ip_policies', {}),
        operation('POST', '/edges/https', { hostports: ['new.example.com:443'] }),
        operation('POST', `/edges/https/\${4.id}/routes`, { match: '/', match_type: 'path_prefix' }),
      ]);
      await timePasses();
      assert.deepEqual(documents(), before);
      const { changes } = (await ok('GET', '/changes?limit=1')).body;
      assert.equal(changes[0].message, `revert of revision ${body.revision}: nobody confirmed it in time`);
      assert.deepEqual([changes[0].author.kind, changes[0].author.via, changes[0].count], ['server', 'revert', 6]);
      await refused(confirm(body.revision), 409, 'NOT_PENDING');
      // The revert can be undone: the change comes back.
      await ok('POST', `/changes/${changes[0].revision}/undo`, {});
      assert.equal((await ok('GET', `/backends/http_response/${backend}`)).body.body, 'other');
    });

    test('rejects writes that touch its documents or would make the revert impossible', async () => {
      const old = await site('held');
      const other = await site('free');
      const { body: spare } = await ok('POST', '/backends/http_response', { body: 'spare' });
      const earlier = await ok('PATCH', old.edgePath, { description: 'earlier' });
      const answer = await apply([
        operation('PATCH', old.edgePath, { hostports: ['held-2.example.com:443'] }),
        operation('PUT', `${old.routePath}/backend`, { backend_id: spare.id }),
        operation('POST', '/backends/http_response', { body: 'made' }),
        operation('POST', '/edges/https', { hostports: ['made.example.com:443'] }),
        operation('DELETE', other.routePath),
      ]);
      const { revision } = answer.body;
      const [, , made, madeEdge] = ids(answer);
      const patch = operation('PATCH', old.edgePath, { description: 'x' });
      const { msg, details } = await refused(world.api('PATCH', old.edgePath, { description: 'x' }));
      assert.match(
        msg,
        new RegExp(`${old.edge} belongs to revision ${revision}, which waits .* POST /changes/${revision}/confirm`),
      );
      assert.equal(details.revision, String(revision));
      const cases: readonly Promise<ApiAnswer>[] = [
        world.api('DELETE', old.edgePath),
        world.api('DELETE', `${old.routePath}/backend`),
        world.api('DELETE', `/edges/https/${madeEdge}`),
        world.api('POST', '/changesets', { operations: [patch] }),
        world.api('POST', '/changesets', { operations: [patch], dry_run: true }),
        world.api('POST', `/changes/${earlier.headers.get('postern-revision')}/undo`, { force: true }),
        world.api('POST', `/changes/${revision}/undo`, {}),
        // Only one may wait.
        world.api('POST', '/changesets', { operations: [operation('POST', '/ip_policies', {})], confirm_within: '1m' }),
        // The earlier documents refer to it, or are below it, or have the name.
        world.api('DELETE', `/backends/http_response/${old.backend}`),
        world.api('DELETE', other.edgePath),
        world.api('POST', '/edges/https', { hostports: ['held.example.com:443'] }),
        // The revert deletes these.
        world.api('POST', `/edges/https/${madeEdge}/routes`, { match: '/', match_type: 'path_prefix' }),
        world.api('POST', `${other.edgePath}/routes`, {
          match: '/x',
          match_type: 'path_prefix',
          backend: { backend_id: made },
        }),
      ];
      for (const [at, each] of (await Promise.all(cases)).entries()) {
        const { details: of } = await refused(each);
        assert.equal(of.revision, String(revision), `case ${at}`);
      }
      // Everything else goes on.
      await ok('POST', `${old.edgePath}/routes`, { match: '/other', match_type: 'path_prefix' });
      await ok('PATCH', other.edgePath, { description: 'still writable' });
      await timePasses();
      for (const gone of [`/edges/https/${madeEdge}`, `/backends/http_response/${made}`]) {
        assert.equal((await world.api('GET', gone)).status, 404);
      }
      assert.deepEqual((await ok('GET', old.edgePath)).body.hostports, ['held.example.com:443']);
      assert.equal((await ok('GET', `${other.routePath}`)).body.id, other.route);
      await ok('PATCH', old.edgePath, { description: 'writable again' });
    });

    test('never restores a deleted key', async () => {
      const narrow = (await ok('POST', '/api_keys', { scopes: ['edges:read'] })).body.id;
      const only = await apply([operation('DELETE', `/api_keys/${narrow}`)]);
      await timePasses();
      const [entry] = (await ok('GET', '/changes?limit=1')).body.changes;
      assert.deepEqual([entry.author.via, entry.count], ['revert', 0]);
      const reverted = `revert of revision ${only.body.revision}: nobody confirmed it in time`;
      assert.equal(entry.message, `${reverted}. Revoked, and left alone: ${narrow}`);
      assert.equal((await world.api('GET', `/api_keys/${narrow}`)).status, 404);
    });

    test('waits for nothing in a dry run, or when nothing changes, and rejects other durations', async () => {
      assert.equal((await apply([operation('POST', '/ip_policies', {})], { dry_run: true })).body.pending, null);
      assert.equal((await apply([])).body.pending, null);
      assert.equal(await pending(), null);
      for (const confirm_within of ['0s', '25h', '1d', '', '-1m', '1.5m', 300]) {
        const body = { operations: [operation('POST', '/ip_policies', {})], confirm_within };
        await refused(world.api('POST', '/changesets', body), 400, 'INVALID_BODY');
      }
    });

    test('waits for nothing when there is nothing to revert', async () => {
      const { backend, edge } = await site('nothing');
      const routes = `/edges/https/${edge}/routes`;
      const route = operation('POST', routes, { match: '/q', match_type: 'path_prefix' });
      const owner = { name: 'team', claims: [{ id: backend, name: 'x' }] };
      const made = await apply([route, operation('DELETE', `${routes}/\${0.id}`)]);
      const claimed = await apply([], { owner });
      assert.deepEqual([made.body.pending, claimed.body.pending, await pending()], [null, null, null]);
    });

    test('ends when the history has no entry of it, by the clock or by a confirmation', async () => {
      const waitFor = async (ms: number): Promise<number> => {
        const doc = { confirm_by_ms: clock.nowMs() + ms, confirm_within_ms: ms };
        const put = { ...PENDING_CHANGE, parent: null, doc, secrets: null, uniqueKeys: [], references: [] };
        const result = await world.store.commit({ puts: [put] });
        assert.ok(result.ok);
        await world.server.replica.refresh();
        return result.revision;
      };
      assert.equal((await confirm(await waitFor(300_000))).status, 200);
      const revision = await waitFor(300_000);
      await timePasses();
      const [{ message }] = (await ok('GET', '/changes?limit=1')).body.changes;
      assert.match(message, new RegExp(`^revision ${revision} was not confirmed .* no entry of it`));
    });

    test('leaves no way to make its revert impossible, and ends if it is', async () => {
      const spare = (await ok('POST', '/backends/http_response', { body: 'spare' })).body.id;
      const group = async (...backends: string[]) => (await ok('POST', '/backends/failover', { backends })).body.id;
      const b = await group(spare);
      const a = await group(b);
      const c = await group(a);
      const { body } = await apply([operation('PATCH', `/backends/failover/${a}`, { backends: [spare] })]);
      for (const backends of [[a], [c]]) await refused(world.api('PATCH', `/backends/failover/${b}`, { backends }));
      // Written without the check, as no request can.
      const record = world.server.replica.get('failover_backend', b);
      assert.ok(record);
      const references = [{ field: 'backends', to: { kind: 'failover_backend', id: a } }];
      const forced = await world.store.commit({ puts: [{ ...record, uniqueKeys: [], references }] });
      assert.ok(forced.ok);
      await timePasses();
      const [{ message }] = (await ok('GET', '/changes?limit=1')).body.changes;
      assert.match(message, new RegExp(`^revision ${body.revision} .* could not be reverted: .* cycle`));
      assert.ok(world.logLines.some((line) => line.includes('gave up reverting')));
    });

    test('is reverted without records of use, revoked tokens and a second login', async () => {
      const account = (await ok('POST', '/service_accounts', { name: 'used' })).body.id;
      const token = (await ok('POST', '/service_account_tokens', { service_account_id: account })).body.id;
      const use = { kind: TOKEN_USE_KIND, id: tokenUseId(token), parent: token, doc: {}, secrets: null };
      assert.ok((await world.store.commit({ puts: [{ ...use, uniqueKeys: [], references: [] }] })).ok);
      const { routePath } = await site('logins');
      await apply([
        operation('PATCH', `/service_account_tokens/${token}`, { description: 'x' }),
        operation('DELETE', `/service_accounts/${account}`),
        operation('DELETE', `${routePath}/oidc`),
      ]);
      await ok('PUT', `${routePath}/oauth`, { provider: { github: { client_id: 'a', client_secret: 'b' } } });
      await timePasses();
      assert.equal((await ok('GET', `/service_accounts/${account}`)).body.name, 'used');
      assert.equal((await world.api('GET', `/service_account_tokens/${token}`)).status, 404);
      const { oidc, oauth } = (await ok('GET', routePath)).body;
      assert.deepEqual([oidc?.issuer, oauth], [OIDC.issuer, null]);
      const [{ author }] = (await ok('GET', '/changes?limit=1')).body.changes;
      assert.equal(author.via, 'revert');
    });

    test('needs the write scope of its documents to be confirmed', async () => {
      const { token } = (await ok('POST', '/api_keys', { scopes: ['changes:write'] })).body;
      const { revision } = (await apply([operation('POST', '/ip_policies', {})])).body;
      await refused(world.api('POST', `/changes/${revision}/confirm`, {}, { key: token }), 403, 'FORBIDDEN');
      await refused(confirm(999_999), 404, 'NOT_FOUND');
      assert.equal((await confirm(revision)).status, 200);
    });

    test('is not pruned from the history while it waits', async () => {
      const { revision } = (await apply([operation('POST', '/ip_policies', {})])).body;
      await until('links', async () => (await ok('GET', '/changes/verification')).body.unlinked === 0);
      while ((await world.store.history.prune(Number.MAX_SAFE_INTEGER, 0)) > 0);
      assert.equal((await ok('GET', `/changes/${revision}`)).body.revision, revision);
      await timePasses();
    });

    test('is reverted by the server that restores a backup of it', async (t) => {
      const claims = async (of: TestWorld) => (await of.api('GET', '/changesets/claims?owner=team-web')).body.claims;
      const owner = { name: 'team-web', claims: [{ id: `$\{${0}.id}`, name: 'owned' }] };
      const operations = [operation('POST', '/ip_policies', { description: 'owned' })];
      const [owned] = ids(await ok('POST', '/changesets', { operations, owner }));
      const owners = await claims(world);
      assert.deepEqual([owners.length, owners[0].id], [1, owned]);
      const { body } = await apply([
        operation('POST', '/ip_policies', { description: 'in the backup' }),
        operation('DELETE', `/ip_policies/${owned}`),
      ]);
      assert.deepEqual(await claims(world), []);
      const dataDir = join(await tempDir(t), 'data');
      const file = join(await tempDir(t), 'backup');
      const at = (url: string | undefined, dir: string): StoreLocation =>
        url === undefined ? { engine: 'sqlite', dataDir: dir } : { engine: 'postgres', dataDir: dir, url };
      await backupStore({ source: at(databaseUrl, world.dataDir), file, withKey: { passphrase: 'x' } });
      await confirm(body.revision);
      const url = databaseUrl === undefined ? undefined : (await freshDatabase(postgres)).url;
      await restoreStore({ target: at(url, dataDir), file, passphrase: 'x', replace: false });
      aheadMs += 300_001;
      const restored = await TestWorld.open(t, { dataDir, clock, ...(url !== undefined && { databaseUrl: url }) });
      const newest = async () => (await restored.api('GET', '/changes?limit=1')).body;
      await until('the restored change is reverted', async () => (await newest()).pending === null);
      assert.equal(
        (await newest()).changes[0].message,
        `revert of revision ${body.revision}: nobody confirmed it in time`,
      );
      assert.deepEqual(await claims(restored), owners, 'a restored object has its owner again');

      // The change made the key that is now the only one with all scopes: its revert leaves it.
      const keyMade = { operations: [operation('POST', '/api_keys', { scopes: ['*'] })], confirm_within: '5m' };
      const { results } = (await restored.api('POST', '/changesets', keyMade)).body;
      const { id, token: key } = results[0].body;
      for (const other of (await restored.api('GET', '/api_keys', undefined, { key })).body.keys) {
        if (other.id !== id) await restored.api('DELETE', `/api_keys/${other.id}`, undefined, { key });
      }
      aheadMs += 300_001;
      const list = () => restored.api('GET', '/changes?limit=1', undefined, { key });
      await until('the change is reverted', async () => (await list()).body.pending === null);
      assert.equal((await list()).body.changes[0].author.via, 'revert');
    });
  });

  test(`another process reverts it after kill -9 on ${engine}, exactly once`, async (t) => {
    const dataDir = await tempDir(t);
    const databaseUrl = engine === 'postgres' ? (await freshDatabase(postgres)).url : undefined;
    const shared = { dataDir, ...(databaseUrl !== undefined && { databaseUrl }) };
    const env = {
      POSTERN_ROLES: 'api',
      POSTERN_API_KEY: TEST_API_KEY,
      ...(databaseUrl !== undefined && { POSTERN_DATABASE_URL: databaseUrl }),
    };
    const server = startServerProcess(t, dataDir, { env });
    const { base_url: baseUrl } = await server.ready();
    // On PostgreSQL two more nodes run meanwhile.
    const others = databaseUrl === undefined ? [] : [await TestWorld.open(t, shared), await TestWorld.open(t, shared)];
    const body = { operations: [operation('POST', '/ip_policies', {})], confirm_within: '2s' };
    const answer = await fetch(`${baseUrl}/changesets`, { method: 'POST', headers, body: JSON.stringify(body) });
    const { revision, pending } = (await answer.json()) as { revision: number; pending: { revision: number } };
    assert.equal(pending.revision, revision);
    server.child.kill('SIGKILL');
    await server.exited;
    const world = others[0] ?? (await TestWorld.open(t, shared));
    const newest = async () => (await world.api('GET', '/changes?limit=3')).body;
    // A node that has not heard of the change shows no pending one either.
    const isReverted = async () => (await newest()).changes[0].author.via === 'revert';
    await until('the change is reverted', isReverted);
    const messages = (await newest()).changes.map((each: { message: string }) => each.message);
    const reverts = messages.filter((each: string) => each.startsWith(`revert of revision ${revision}`));
    assert.deepEqual([messages[0], reverts.length], [reverts[0], 1]);
    for (const each of [world, ...others]) {
      await until('every node has it', () => each.server.replica.count('ip_policy') === 0);
    }
  });
}
