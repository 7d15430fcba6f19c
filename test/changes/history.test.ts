import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { execute, freshDatabase, startPostgres } from '../support/postgres.ts';
import { type ApiAnswer, TestWorld } from '../support/test-world.ts';

const postgres = await startPostgres();
after(() => postgres.stop());

const OIDC = { issuer: 'https://accounts.example.com', client_id: 'id', client_secret: 'planted-secret' };

for (const engine of ['sqlite', 'postgres'] as const) {
  suite(`history on ${engine}`, async () => {
    const databaseUrl = engine === 'postgres' ? (await freshDatabase(postgres)).url : undefined;
    const world = await TestWorld.open({ after }, databaseUrl === undefined ? {} : { databaseUrl });
    const ok = async (method: string, path: string, body?: object) => {
      const answer = await world.api(method, path, body);
      assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`);
      return { body: answer.body, revision: Number(answer.headers.get('postern-revision')) };
    };
    const undo = (revision: number, body: object = {}): Promise<ApiAnswer> =>
      world.api('POST', `/changes/${revision}/undo`, body);
    const undone = async (revision: number, body: object = {}) => {
      const answer = await undo(revision, body);
      assert.equal(answer.status, 200, answer.text);
      return answer.body;
    };
    const refused = async (answer: Promise<ApiAnswer>, status: number, code: string) => {
      const { status: got, body } = await answer;
      assert.deepEqual([got, body.error_code], [status, code], body.msg);
    };
    /** Every stored document by its key, without the revisions. */
    const documents = () => {
      const { replica } = world.server;
      const all = [...replica.kinds()].flatMap((kind) => [...replica.all(kind)]);
      return new Map(all.map(({ kind, id, parent, doc, secrets }) => [`${kind} ${id}`, { parent, doc, secrets }]));
    };
    const site = async (name: string) => {
      const backend = (await ok('POST', '/backends/http_response', { body: name })).body;
      const edge = (await ok('POST', '/edges/https', { hostports: [`${name}.example.com:443`] })).body;
      const { body: route, revision } = await ok('POST', `/edges/https/${edge.id}/routes`, {
        match: '/',
        match_type: 'path_prefix',
        backend: { backend_id: backend.id },
        oidc: OIDC,
      });
      return { backend, edge, route, revision };
    };

    test('shows who changed what, with secrets masked', async () => {
      const { route, edge, revision } = await site('shown');
      const { body } = await ok('GET', `/changes/${revision}`);
      assert.deepEqual(
        [body.revision, body.author.kind, body.author.address, body.author.via],
        [revision, 'api_key', '127.0.0.1', 'api'],
      );
      const changed = body.objects.map((each: { kind: string; module?: string; change: string }) => [
        each.kind,
        each.module,
        each.change,
      ]);
      assert.deepEqual([changed.length, changed[0]], [3, ['https_edge_route', undefined, 'created']]);
      assert.ok(changed.some(([, module]: string[]) => module === 'oidc'));
      assert.ok(!JSON.stringify(body).includes('planted-secret'));
      const oidc = body.objects.find(({ module }: { module?: string }) => module === 'oidc');
      assert.deepEqual([oidc.before, oidc.after.issuer, oidc.id], [null, OIDC.issuer, route.id]);
      // The edge shows its routes, and was only touched.
      assert.ok(!body.objects.some(({ id }: { id: string }) => id === edge.id));
    });

    test('lists changes newest first, by object, author and time, in pages', async () => {
      const { edge, route, revision } = await site('listed');
      const changed = await ok('PATCH', `/edges/https/${edge.id}`, { description: 'changed' });
      const { body } = await ok('GET', `/changes?object_id=${edge.id}`);
      assert.deepEqual(
        body.changes.map((each: { revision: number }) => each.revision),
        [changed.revision, revision - 1],
      );
      const ofRoute = await ok('GET', `/changes?object_id=${route.id}`);
      assert.deepEqual(
        ofRoute.body.changes.map((each: { revision: number }) => each.revision),
        [revision],
      );
      const first = await ok('GET', '/changes?limit=1');
      assert.equal(first.body.changes[0].revision, changed.revision);
      const second = await ok('GET', first.body.next_page_uri);
      assert.ok(second.body.changes[0].revision < changed.revision);
      assert.deepEqual((await ok('GET', '/changes?since=2099-01-01T00:00:00Z')).body.changes, []);
      await refused(world.api('GET', '/changes?since=yesterday'), 400, 'ERR_POSTERN_INVALID_TIME');
      await refused(world.api('GET', '/changes/999999999'), 404, 'ERR_POSTERN_NOT_FOUND');
      await refused(world.api('GET', '/changes/x'), 404, 'ERR_POSTERN_NOT_FOUND');
    });

    test('undoes a creation, an update and a deletion with everything below it', async () => {
      const empty = documents();
      const { edge, route, revision } = await site('undone');
      const made = documents();
      const updated = await ok('PUT', `/edges/https/${edge.id}/routes/${route.id}/oidc`, {
        ...OIDC,
        client_secret: 'another',
      });
      const { objects } = (await ok('GET', `/changes/${updated.revision}`)).body;
      assert.deepEqual(objects[0].changed_secrets, ['/client_secret']);
      await undone(updated.revision);
      assert.deepEqual(documents(), made, 'the update is undone, with its secret');
      const deleted = await ok('DELETE', `/edges/https/${edge.id}`);
      await undone(deleted.revision, { message: 'too early' });
      assert.deepEqual(documents(), made, 'the deletion is undone, with the same ids');
      assert.equal(
        (await ok('GET', `/edges/https/${edge.id}/routes/${route.id}/oidc`)).body.client_secret,
        OIDC.client_secret,
      );
      const [latest] = (await ok('GET', '/changes?limit=1')).body.changes;
      assert.deepEqual([latest.message, latest.author.via], ['too early', 'undo']);
      for (const each of [revision, revision - 1, revision - 2]) await undone(each);
      assert.deepEqual(documents(), empty, 'the creations are undone');
    });

    test('undoes an undo', async () => {
      const { edge } = await site('again');
      const before = documents();
      const { revision } = await ok('PATCH', `/edges/https/${edge.id}`, { description: 'x' });
      const changed = documents();
      const { revision: second } = await undone(revision);
      assert.deepEqual(documents(), before);
      await undone(second);
      assert.deepEqual(documents(), changed);
    });

    test('refuses when a later change touched the same document, unless forced', async () => {
      const { edge } = await site('later');
      const { revision } = await ok('PATCH', `/edges/https/${edge.id}`, { description: 'one' });
      await ok('PATCH', `/edges/https/${edge.id}`, { metadata: 'two' });
      await refused(undo(revision), 409, 'ERR_POSTERN_CHANGED_SINCE');
      await undone(revision, { force: true });
      const { body } = await ok('GET', `/edges/https/${edge.id}`);
      assert.deepEqual([body.description, body.metadata], ['', '']);
    });

    test('refuses when a reference would dangle, or a name is taken', async () => {
      const { edge, route, backend } = await site('dangling');
      const removed = await ok('DELETE', `/edges/https/${edge.id}/routes/${route.id}`);
      await ok('DELETE', `/backends/http_response/${backend.id}`);
      await refused(undo(removed.revision), 409, 'ERR_POSTERN_CANNOT_UNDO');
      const gone = await ok('DELETE', `/edges/https/${edge.id}`);
      await ok('POST', '/edges/https', { hostports: ['dangling.example.com:443'] });
      await refused(undo(gone.revision), 409, 'ERR_POSTERN_CANNOT_UNDO');
    });

    test('never brings back keys, credentials, tokens and guest links', async () => {
      const key = (await ok('POST', '/api_keys', { description: 'leaked' })).body;
      const { revision } = await ok('DELETE', `/api_keys/${key.id}`);
      await refused(undo(revision), 409, 'ERR_POSTERN_CANNOT_UNDO');
      assert.equal((await world.api('GET', '/edges/https', undefined, { key: key.token })).status, 401);
      const credential = (await ok('POST', '/credentials', {})).body;
      const removed = await ok('DELETE', `/credentials/${credential.id}`);
      await refused(undo(removed.revision, { force: true }), 409, 'ERR_POSTERN_CANNOT_UNDO');
    });

    test('says beforehand that there is nothing to undo, and why', async () => {
      const reasonOf = async (revision: number): Promise<string | null> =>
        (await ok('GET', `/changes/${revision}`)).body.cannot_undo;
      const policy = await ok('POST', '/ip_policies', {});
      assert.equal(await reasonOf(policy.revision), null);
      await undone(policy.revision);
      assert.match((await reasonOf(policy.revision)) ?? '', /its documents are as before\. It was undone already/);
      const key = (await ok('POST', '/api_keys', {})).body;
      const deleted = await ok('DELETE', `/api_keys/${key.id}`);
      const why = `revision ${deleted.revision} leaves nothing to undo: deleted keys, tokens and links do not come back. Create new ones`;
      assert.equal(await reasonOf(deleted.revision), why);
      assert.equal((await undo(deleted.revision, { force: true })).body.msg, why);
    });

    test('brings back no revoked key by the undo of an earlier change of it', async () => {
      const { id, token } = (await ok('POST', '/api_keys', { scopes: ['edges:read'] })).body;
      const patched = await ok('PATCH', `/api_keys/${id}`, { description: 'later' });
      await ok('DELETE', `/api_keys/${id}`);
      await refused(undo(patched.revision, { force: true }), 409, 'ERR_POSTERN_CANNOT_UNDO');
      assert.equal((await world.api('GET', '/edges/https', undefined, { key: token })).status, 401);
    });

    test('refuses when a route would have two logins', async () => {
      const { edge, route } = await site('logins');
      const path = `/edges/https/${edge.id}/routes/${route.id}`;
      const removed = await ok('DELETE', `${path}/oidc`);
      await ok('PUT', `${path}/oauth`, { provider: { github: { client_id: 'a', client_secret: 'b' } } });
      await refused(undo(removed.revision, { force: true }), 409, 'ERR_POSTERN_CANNOT_UNDO');
      await ok('PUT', `${path}/oauth`, {
        enabled: false,
        provider: { github: { client_id: 'a', client_secret: 'b' } },
      });
      await undone(removed.revision);
    });

    test('needs the scopes of what it shows and of what it restores', async () => {
      const { revision } = await site('scoped');
      const keyWith = async (scopes: string[]) => ({ key: (await ok('POST', '/api_keys', { scopes })).body.token });
      const listing = await keyWith(['changes:read']);
      const reader = await keyWith(['changes:read', 'edges:read']);
      const writer = await keyWith(['changes:read', 'changes:write', 'edges:read']);
      assert.deepEqual((await world.api('GET', '/changes', undefined, listing)).body.changes, []);
      await refused(world.api('GET', `/changes/${revision}`, undefined, listing), 403, 'ERR_POSTERN_FORBIDDEN');
      assert.equal((await world.api('GET', `/changes/${revision}`, undefined, reader)).status, 200);
      await refused(world.api('POST', `/changes/${revision}/undo`, {}, reader), 403, 'ERR_POSTERN_FORBIDDEN');
      await refused(world.api('POST', `/changes/${revision}/undo`, {}, writer), 403, 'ERR_POSTERN_FORBIDDEN');
    });

    test('undoes a changeset as a whole', async () => {
      const before = documents();
      const operations = [
        { method: 'POST', path: '/backends/http_response', body: { body: 'set' } },
        { method: 'POST', path: '/edges/https', body: { hostports: ['set.example.com:443'] } },
      ];
      const { revision } = await ok('POST', '/changesets', { operations, message: 'a new site' });
      const { body } = await ok('GET', `/changes/${revision}`);
      assert.deepEqual([body.message, body.author.via, body.count], ['a new site', 'changeset', 2]);
      await undone(revision);
      assert.deepEqual(documents(), before);
    });

    test('links its entries, and notices a changed or removed one', async () => {
      const verified = async () => (await ok('GET', '/changes/verification')).body;
      await until(async () => (await verified()).unlinked === 0);
      const { checked, intact } = await verified();
      assert.ok(intact && checked > 20, `${checked}`);
      const { revision } = await ok('POST', '/ip_policies', { description: 'original' });
      await until(async () => (await ok('GET', `/changes/${revision}`)).body.is_linked);
      assert.equal((await verified()).checked, checked + 1);
      if (databaseUrl === undefined) return;
      await ok('POST', '/ip_policies', {});
      await until(async () => (await verified()).checked === checked + 2);
      await execute(
        databaseUrl,
        `UPDATE history_items SET after_doc = replace(after_doc, 'original', 'forged') WHERE revision = ${revision}`,
      );
      assert.deepEqual(await verified(), { intact: false, checked, unlinked: 0, first_broken: revision });
      await execute(databaseUrl, `DELETE FROM history WHERE revision = ${revision}`);
      assert.deepEqual((await verified()).first_broken, revision + 1);
    });

    test('survives a restart', async () => {
      const { revision } = await ok('POST', '/ip_policies', { description: 'kept' });
      const before = (await ok('GET', `/changes/${revision}`)).body;
      await world.close();
      const again = await TestWorld.open(
        { after },
        { dataDir: world.dataDir, ...(databaseUrl !== undefined && { databaseUrl }) },
      );
      const { body } = await again.api('GET', `/changes/${revision}`);
      assert.deepEqual({ ...body, is_linked: true }, { ...before, is_linked: true });
    });
  });
}

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await new Promise((resolve) => setTimeout(resolve, 20));
}
