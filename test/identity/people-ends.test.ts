import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { subjectIdentity } from '../../src/lib/text/subject-identity.ts';
import { newLogin } from '../store/conformance/new-login.ts';
import { freshDatabase, startPostgres } from '../support/postgres.ts';
import { type ApiAnswer, TestWorld } from '../support/test-world.ts';

const ISSUER = 'https://id.example.com';
const postgres = await startPostgres();
after(() => postgres.stop());
let count = 0;

for (const engine of ['sqlite', 'postgres'] as const) {
  suite(`a person who is signed out on ${engine}`, async () => {
    const databaseUrl = engine === 'postgres' ? (await freshDatabase(postgres)).url : undefined;
    const env = { POSTERN_IDENTITY_HOST: 'id.example.com' };
    const world = await TestWorld.open({ after }, { env, ...(databaseUrl !== undefined && { databaseUrl }) });
    const ok = async (method: string, path: string, body?: object): Promise<ApiAnswer> => {
      const answer = await world.api(method, path, body);
      assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`);
      return answer;
    };

    /** A person with a login on a route, a session of the console and an invitation. */
    async function person(issuer = ISSUER) {
      count += 1;
      const { id } = (await ok('POST', '/user_accounts', { email: `p${count}@example.com` })).body;
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

    test('a new link that removes passkeys signs the person out, and another one does not', async () => {
      const { path, state } = await person();
      await ok('POST', `${path}/invite`);
      assert.deepEqual(await state(), { login: true, console: true, link: true });
      await ok('POST', `${path}/invite`, { remove_passkeys: true });
      assert.deepEqual(await state(), { login: false, console: false, link: true });
    });

    test('changes that end nothing, a dry run and other providers leave logins alone', async () => {
      const [subject, elsewhere] = [await person(), await person('https://other.example.com')];
      await ok('PATCH', subject.path, { groups: ['ops'], name: 'x', email: 'new@example.com' });
      const operations = [{ method: 'PATCH', path: subject.path, body: { active: false } }];
      await ok('POST', '/changesets', { operations, dry_run: true });
      assert.deepEqual(await subject.state(), { login: true, console: true, link: true });
      await ok('POST', `${elsewhere.path}/sign_out`);
      assert.deepEqual(await elsewhere.state(), { login: true, console: true, link: false });
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
