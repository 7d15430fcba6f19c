import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { subjectIdentity } from '../../src/kit/text/secrets.ts';
import { newLogin } from '../store/conformance/new-login.ts';
import { testPasskeyPut } from '../support/passkey-put.ts';
import { freshDatabase, startPostgres } from '../support/postgres.ts';
import { type ApiAnswer, TestWorld } from '../support/test-world.ts';

const ISSUER = 'https://id.example.com';
const postgres = await startPostgres();
after(() => postgres.stop());
let count = 0;

for (const engine of ['sqlite', 'postgres'] as const) {
  suite(`a person who is logged out on ${engine}`, async () => {
    const databaseUrl = engine === 'postgres' ? (await freshDatabase(postgres)).url : undefined;
    const env = { POSTERN_IDENTITY_HOST: 'id.example.com' };
    let aheadMs = 0;
    const clock = { nowMs: () => Date.now() + aheadMs };
    const world = await TestWorld.open({ after }, { env, clock, ...(databaseUrl !== undefined && { databaseUrl }) });
    const ok = async (method: string, path: string, body?: object): Promise<ApiAnswer> => {
      const answer = await world.api(method, path, body);
      assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`);
      return answer;
    };

    /** A person with a login on a route, a session of the console and an invitation. */
    async function person(issuer = ISSUER) {
      count += 1;
      const { id } = (await ok('POST', '/user_accounts', { email: `p${count}@example.com` })).body;
      return loggedIn(id, issuer);
    }

    async function loggedIn(id: string, issuer = ISSUER) {
      count += 1;
      const [login, session] = [`as_${count}`, `cs_${count}`];
      const key = `${engine}${count}`;
      const given = newLogin(login, { issuer, keyHash: key, userId: `au_${count}` });
      await world.store.logins.recordLogin({ ...given, identity: subjectIdentity(issuer, id) });
      const who = { kind: 'person', name: 'x', subject: id, issuer };
      const doc = { who, cookieHash: key, tokenHash: key, createdAtMs: Date.now(), lastUsedAtMs: Date.now() };
      const put = {
        kind: 'console_session',
        id: session,
        parent: null,
        doc,
        secrets: null,
        uniqueKeys: [],
        references: [],
      };
      assert.ok((await world.store.commit({ puts: [put] })).ok);
      const state = async () => ({
        login: (await world.store.logins.getSession(login)) !== null,
        console: world.server.replica.get('console_session', session) !== undefined,
        link: world.server.replica.get('user_invitation', `${id}.invitation`) !== undefined,
      });
      return { id, path: `/user_accounts/${id}`, state };
    }

    type Subject = Awaited<ReturnType<typeof person>>;
    const WAYS: Readonly<Record<string, (subject: Subject) => Promise<unknown>>> = {
      'by POST …/sign_out': ({ path }) => ok('POST', `${path}/sign_out`),
      'by being disabled': ({ path }) => ok('PATCH', path, { active: false }),
      'by being deleted': ({ path }) => ok('DELETE', path),
      'by a changeset that disables them': ({ path }) =>
        ok('POST', '/changesets', { operations: [{ method: 'PATCH', path, body: { active: false } }] }),
      'by a changeset that deletes them': ({ path }) =>
        ok('POST', '/changesets', { operations: [{ method: 'DELETE', path }] }),
      'by the undo of their creation': async ({ id }) => {
        const { changes } = (await ok('GET', `/changes?object_id=${id}`)).body;
        await ok('POST', `/changes/${changes.at(-1).revision}/undo`, { force: true });
      },
    };
    for (const [way, run] of Object.entries(WAYS)) {
      test(`${way} is out of routes and the console, and has no link`, async () => {
        const [subject, other] = [await person(), await person()];
        assert.deepEqual(await subject.state(), { login: true, console: true, link: true });
        await run(subject);
        assert.deepEqual(await subject.state(), { login: false, console: false, link: false });
        assert.deepEqual(await other.state(), { login: true, console: true, link: true });
      });
    }

    const waits = (method: string, path: string, body: object): Promise<ApiAnswer> =>
      ok('POST', '/changesets', { operations: [{ method, path, body }], confirm_within: '5m' });
    const REVERTS: Readonly<Record<string, (revision: number) => Promise<unknown>>> = {
      'is reverted early': (revision) => ok('POST', `/changes/${revision}/revert`, {}),
      'nobody confirms': async () => {
        aheadMs += 300_001;
        const untilMs = performance.now() + 20_000;
        while ((await ok('GET', '/changes?limit=1')).body.pending !== null) {
          assert.ok(performance.now() < untilMs, 'the change is not reverted');
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
      },
    };
    for (const [how, revert] of Object.entries(REVERTS)) {
      test(`by the end of a change that created or enabled them, which ${how}`, async () => {
        count += 1;
        const created = (await waits('POST', '/user_accounts', { email: `w${count}@example.com` })).body;
        const { id } = created.results[0].body;
        const made = await loggedIn(id);
        assert.deepEqual([(await made.state()).login, (await made.state()).console], [true, true]);
        await revert(created.revision);
        assert.deepEqual(await made.state(), { login: false, console: false, link: false });
        assert.equal((await world.api('GET', made.path)).status, 404);

        const disabled = await person();
        await ok('PATCH', disabled.path, { active: false });
        const { revision } = (await waits('PATCH', disabled.path, { active: true })).body;
        const enabled = await loggedIn(disabled.id);
        await revert(revision);
        assert.deepEqual(await enabled.state(), { login: false, console: false, link: false });
        assert.equal((await ok('GET', disabled.path)).body.active, false);
      });
    }

    test('by the undo of what enabled them is out too', async () => {
      const { id, path } = await person();
      await ok('PATCH', path, { active: false });
      const revision = (await ok('PATCH', path, { active: true })).headers.get('postern-revision');
      const enabled = await loggedIn(id);
      await ok('POST', `/changes/${revision}/undo`);
      assert.deepEqual(await enabled.state(), { login: false, console: false, link: false });
    });

    test('a changeset that deletes a person deletes all that is below them, and changes nothing below afterwards', async () => {
      const { id, path, state } = await person();
      const passkey = `pk_${engine}`.padEnd(30, '0');
      const use = { kind: 'passkey_use', id: `${passkey}.use`, parent: passkey, doc: { sign_count: 1 } };
      const puts = [testPasskeyPut(passkey, id), { ...use, secrets: null, uniqueKeys: [], references: [] }];
      assert.ok((await world.store.commit({ puts })).ok);
      const below = { method: 'DELETE', path: `${path}/passkeys/${passkey}` };
      const above = { method: 'DELETE', path };
      for (const operations of [
        [above, { method: 'PATCH', path, body: { active: true } }],
        [above, below],
        [above, { method: 'POST', path: `${path}/invite`, body: {} }],
      ]) {
        const refused = await world.api('POST', '/changesets', { operations });
        assert.ok([400, 404, 422].includes(refused.status), refused.text);
        assert.deepEqual(await state(), { login: true, console: true, link: true });
      }
      await ok('POST', '/changesets', { operations: [above] });
      const { replica } = world.server;
      for (const [kind, key] of [
        ['user_account', id],
        ['passkey', passkey],
        ['passkey_use', `${passkey}.use`],
        ['user_invitation', `${id}.invitation`],
      ] as const)
        assert.equal(replica.get(kind, key), undefined, kind);
      assert.equal((await world.api('DELETE', below.path)).status, 404);
      assert.equal((await world.api('POST', `${path}/invite`, {})).status, 404);
    });

    test('a new link that removes passkeys logs the person out, and another one does not', async () => {
      const { path, state } = await person();
      await ok('POST', `${path}/invite`);
      assert.deepEqual(await state(), { login: true, console: true, link: true });
      await ok('POST', `${path}/invite`, { remove_passkeys: true });
      assert.deepEqual(await state(), { login: false, console: false, link: true });
    });

    test('changes that end nothing, a dry run and other providers leave logins alone', async () => {
      const [subject, elsewhere] = [await person(), await person('https://other.example.com')];
      await ok('PATCH', subject.path, { groups: ['ops'], name: 'x' });
      const operations = [{ method: 'PATCH', path: subject.path, body: { active: false } }];
      await ok('POST', '/changesets', { operations, dry_run: true });
      assert.deepEqual(await subject.state(), { login: true, console: true, link: true });
      await ok('POST', `${elsewhere.path}/sign_out`);
      assert.deepEqual(await elsewhere.state(), { login: true, console: true, link: false });
      // The link went to the earlier address.
      await ok('PATCH', subject.path, { email: 'new@example.com' });
      assert.deepEqual(await subject.state(), { login: true, console: true, link: false });
      await ok('DELETE', subject.path);
    });

    test('disabling is undone without the sessions, and the history has none of them', async () => {
      const { path, state } = await person();
      const { headers } = await ok('PATCH', path, { active: false });
      const revision = headers.get('postern-revision');
      const { objects } = (await ok('GET', `/changes/${revision}`)).body;
      assert.deepEqual(objects.map(({ kind }: { kind: string }) => kind).sort(), ['user_account', 'user_invitation']);
      await ok('POST', `/changes/${revision}/undo`);
      assert.equal((await ok('GET', path)).body.active, true);
      assert.deepEqual(await state(), { login: false, console: false, link: false });
    });
  });
}
