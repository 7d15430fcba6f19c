import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, suite, test } from 'node:test';
import { invitationOf } from '../../src/control/identity/people-records.ts';
import { subjectIdentity } from '../../src/kit/text/secrets.ts';
import { newLogin } from '../store/conformance/new-login.ts';
import { until } from '../support/cluster.ts';
import { testPasskeyPut } from '../support/passkey-put.ts';
import { freshDatabase, startPostgres } from '../support/postgres.ts';
import { type ApiAnswer, TestWorld } from '../support/test-world.ts';

const postgres = await startPostgres();
after(() => postgres.stop());

const ISSUER = 'https://id.example.com';
const ENV = {
  POSTERN_IDENTITY_HOST: 'id.example.com',
  POSTERN_CONSOLE_ROLES: 'admin=groups:bosses,operator=email:op@example.com',
};
const BOSS = { groups: ['bosses'] };
const PLAIN = { groups: [] };

interface Subject {
  readonly id: string;
  readonly path: string;
  readonly passkey: string;
  /** The change that led to the state; null: none. */
  readonly revision: number | null;
}

/** States of a person in the table of docs/reference/identity-host.md. */
const STATES = [
  'plain',
  'administrator',
  'demotion waits',
  'promotion waits',
  'demoted',
  'promoted',
  'demotion undone',
];
type Ask = (key?: string) => Promise<ApiAnswer>;

for (const engine of ['sqlite', 'postgres'] as const) {
  suite(`rights in every state that the store may return to, on ${engine}`, async () => {
    const databaseUrl = engine === 'postgres' ? (await freshDatabase(postgres)).url : undefined;
    let aheadMs = 0;
    const clock = { nowMs: () => Date.now() + aheadMs };
    const secret = { POSTERN_SECRET_KEY: randomBytes(32).toString('base64') };
    const options = { env: { ...ENV, ...secret }, clock, ...(databaseUrl !== undefined && { databaseUrl }) };
    const world = await TestWorld.open({ after }, options);
    // On PostgreSQL, another node answers the narrow key.
    const other = databaseUrl === undefined ? world : await TestWorld.open({ after }, options);
    const ok = async (method: string, path: string, body?: object, key?: string): Promise<ApiAnswer> => {
      const answer = await world.api(method, path, body, key === undefined ? {} : { key });
      assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`);
      return answer;
    };
    const keyWith = async (...scopes: string[]): Promise<string> =>
      (await ok('POST', '/api_keys', { scopes })).body.token;
    const helpdesk = await keyWith('user_accounts:read', 'user_accounts:write', 'changes:read', 'changes:write');
    const change = (path: string, body: object, within?: string): Promise<ApiAnswer> =>
      ok('POST', '/changesets', {
        operations: [{ method: 'PATCH', path, body }],
        ...(within !== undefined && { confirm_within: within }),
      });
    const settled = async (): Promise<void> => {
      const { pending } = (await ok('GET', '/changes?limit=1')).body;
      // The pending change may end by itself in this moment, because all that it changed was revoked.
      if (pending !== null) await world.api('POST', `/changes/${pending.revision}/revert`, {});
      await until('no change waits', async () => (await ok('GET', '/changes?limit=1')).body.pending === null);
    };
    const inSync = async (): Promise<void> => {
      await other.server.replica.refresh();
    };

    let count = 0;
    const inState = async (state: string): Promise<Subject> => {
      await settled();
      count += 1;
      const isBossFirst = ['administrator', 'demotion waits', 'demoted', 'demotion undone'].includes(state);
      const email = `p${count}@example.com`;
      const { id } = (await ok('POST', '/user_accounts', { email, ...(isBossFirst ? BOSS : PLAIN) })).body;
      const path = `/user_accounts/${id}`;
      const passkey = `pk_${engine}${count}`.padEnd(30, '0');
      assert.ok((await world.store.commit({ puts: [testPasskeyPut(passkey, id)] })).ok);
      const steps: Readonly<Record<string, () => Promise<number | null>>> = {
        'demotion waits': async () => (await change(path, PLAIN, '1h')).body.revision,
        'promotion waits': async () => (await change(path, BOSS, '1h')).body.revision,
        demoted: async () => (await change(path, PLAIN)).body.revision,
        promoted: async () => (await change(path, BOSS)).body.revision,
        'demotion undone': async () => {
          const { revision } = (await change(path, PLAIN)).body;
          return (await ok('POST', `/changes/${revision}/undo`, {})).body.revision;
        },
      };
      // From here on, the other node may be behind.
      await inSync();
      const revision = (await steps[state]?.()) ?? null;
      return { id, path, passkey, revision };
    };

    /** Status for a narrow key if the person may do nothing in the console in any state, and for all scopes if held. */
    const ACTIONS: readonly {
      readonly name: string;
      readonly isRevocation: boolean;
      readonly ask: (subject: Subject) => Ask;
    }[] = (
      [
        ['invite', false, ({ path }) => ['POST', `${path}/invite`, {}]],
        ['invite with remove_passkeys', false, ({ path }) => ['POST', `${path}/invite`, { remove_passkeys: true }]],
        ['change groups', false, ({ path }) => ['PATCH', path, { groups: ['ops'] }]],
        ['change the address', false, ({ path }) => ['PATCH', path, { email: `new${count}@example.com` }]],
        ['change the name', false, ({ path }) => ['PATCH', path, { name: 'x' }]],
        [
          'change the name in a changeset',
          false,
          ({ path }) => ['POST', '/changesets', { operations: [{ method: 'PATCH', path, body: { name: 'x' } }] }],
        ],
        ['log out', true, ({ path }) => ['POST', `${path}/sign_out`, undefined]],
        ['delete a passkey', true, ({ path, passkey }) => ['DELETE', `${path}/passkeys/${passkey}`, undefined]],
        ['disable', true, ({ path }) => ['PATCH', path, { active: false }]],
        ['delete the account', true, ({ path }) => ['DELETE', path, undefined]],
        [
          'delete the account in a changeset',
          true,
          ({ path }) => ['POST', '/changesets', { operations: [{ method: 'DELETE', path }] }],
        ],
      ] satisfies [string, boolean, (subject: Subject) => [string, string, object | undefined]][]
    ).map(([name, isRevocation, requestOf]) => ({
      ...{ name, isRevocation },
      ask: (subject) => {
        const [method, path, body] = requestOf(subject);
        return (key) => (key === undefined ? world.api(method, path, body) : other.api(method, path, body, { key }));
      },
    }));

    for (const state of STATES) {
      const isHeld = state.endsWith('waits');
      const isFree = state === 'plain' || state === 'demoted';
      const isLikeAnother = state === 'promoted' || state === 'demotion undone';
      for (const { name, isRevocation, ask } of isLikeAnother ? ACTIONS.slice(0, 1) : ACTIONS) {
        test(`${name}, ${state}`, async () => {
          const subject = await inState(state);
          const narrow = await ask(subject)(helpdesk);
          assert.equal(narrow.status < 300, isFree, narrow.text);
          if (!isFree) assert.equal(narrow.status, 403, narrow.text);
          const again = isFree ? await inState(state) : subject;
          const all = await ask(again)();
          const isRefused = isHeld && !isRevocation;
          assert.equal(all.status < 300, !isRefused, all.text);
          if (isRefused) assert.equal(all.body.error_code, 'ERR_POSTERN_CHANGE_PENDING');
        });
      }

      for (const verb of ['confirm', 'revert', 'undo'] as const) {
        test(`${verb} the change, ${state}`, async () => {
          const { revision } = await inState(state);
          if (revision === null || isHeld !== (verb !== 'undo')) return;
          const path = `/changes/${revision}/${verb}`;
          const narrow = await other.api('POST', path, {}, { key: helpdesk });
          assert.equal(narrow.status, 403, narrow.text);
          await ok('POST', path, {});
        });
      }
    }

    const linkOf = (id: string) => world.server.replica.get('user_invitation', `${id}.invitation`);
    const invitedByHelpdesk = async (path: string): Promise<void> => {
      const { status, text } = await world.api('POST', `${path}/invite`, {}, { key: helpdesk });
      assert.equal(status, 200, text);
    };
    /** Logged in at the identity host, on a route and in the console. */
    const loggedIn = async (id: string) => {
      count += 1;
      const [login, session] = [`as_${engine}${count}`, `cs_${engine}${count}`];
      const given = newLogin(login, { issuer: ISSUER, keyHash: login, userId: `au_${engine}${count}` });
      await world.store.logins.recordLogin({ ...given, identity: subjectIdentity(ISSUER, id) });
      const who = { kind: 'person', name: 'x', subject: id, issuer: ISSUER };
      const doc = { who, cookieHash: login, tokenHash: login, createdAtMs: Date.now(), lastUsedAtMs: Date.now() };
      const rest = { parent: null, doc, secrets: null, uniqueKeys: [], references: [] };
      assert.ok((await world.store.commit({ puts: [{ kind: 'console_session', id: session, ...rest }] })).ok);
      return async (): Promise<readonly boolean[]> => [
        (await world.store.logins.getSession(login)) !== null,
        world.server.replica.get('console_session', session) !== undefined,
      ];
    };

    /** Ways to more, for a person who is not an administrator; `demoted` is the revision that took it. */
    const PROMOTIONS: Readonly<Record<string, (path: string, demoted: number) => Promise<unknown>>> = {
      'a change': (path) => ok('PATCH', path, BOSS),
      'another address': (path) => ok('PATCH', path, { email: 'op@example.com' }),
      'a changeset': (path) => change(path, BOSS),
      'a changeset that waits': (path) => change(path, BOSS, '1h'),
      'an undo': (_path, demoted) => ok('POST', `/changes/${demoted}/undo`, {}),
      'a forced undo': async (path, demoted) => {
        await ok('PATCH', path, { name: 'changed since' });
        await ok('POST', `/changes/${demoted}/undo`, { force: true });
      },
    };
    for (const [how, promote] of Object.entries(PROMOTIONS)) {
      test(`${how} that makes somebody an administrator ends logins, and links made with fewer rights`, async () => {
        const { id, path, revision } = await inState('demoted');
        await invitedByHelpdesk(path);
        const isIn = await loggedIn(id);
        assert.deepEqual(await isIn(), [true, true]);
        await promote(path, revision as number);
        assert.deepEqual([linkOf(id), ...(await isIn())], [undefined, false, false]);
        await settled();
        await ok('DELETE', path);
      });
    }

    test('a link that somebody with all rights made survives, and one to the earlier address does not', async () => {
      const { id, path } = await inState('plain');
      await ok('PATCH', path, BOSS);
      assert.ok(linkOf(id) !== undefined);
      const { id: second, path: moved } = await inState('plain');
      await ok('PATCH', moved, { ...BOSS, email: `moved${count}@example.com` });
      assert.equal(linkOf(second), undefined);
    });

    for (const how of ['is withdrawn', 'nobody confirms'] as const) {
      test(`a demotion that ${how} ends logins that began meanwhile`, async () => {
        const { id, revision } = await inState('demotion waits');
        const isIn = await loggedIn(id);
        if (how === 'is withdrawn') await ok('POST', `/changes/${revision}/revert`, {});
        else aheadMs += 3_600_001;
        await until('no change waits', async () => (await ok('GET', '/changes?limit=1')).body.pending === null);
        assert.deepEqual(await isIn(), [false, false]);
      });
    }

    test('an invitation records what its maker could do, and nobody sees that', async () => {
      const { id, path } = await inState('plain');
      await invitedByHelpdesk(path);
      assert.deepEqual(invitationOf(linkOf(id) as never).inviter_scopes, [
        ...['user_accounts:read', 'user_accounts:write', 'changes:read', 'changes:write'],
      ]);
      assert.ok(!JSON.stringify((await ok('GET', path)).body).includes('scopes'));
    });

    test('a key gets no scope that its maker, who has seen its token, did not have', async () => {
      await settled();
      const maker = await keyWith('api_keys:read', 'api_keys:write', 'edges:read');
      const made = (await ok('POST', '/api_keys', { scopes: ['edges:read'] }, maker)).body;
      const path = `/api_keys/${made.id}`;
      for (const answer of [
        await world.api('PATCH', path, { scopes: ['*'] }),
        await other.api('POST', '/changesets', { operations: [{ method: 'PATCH', path, body: { scopes: ['*'] } }] }),
      ]) {
        assert.equal(answer.status, 403, answer.text);
        assert.match(answer.body.msg, /has seen its token: create a new key/);
      }
      await ok('PATCH', path, { scopes: ['api_keys:read'], description: 'x' });
      const own = (await ok('POST', '/api_keys', { scopes: ['edges:read'] })).body;
      const narrowed = await ok('PATCH', `/api_keys/${own.id}`, { scopes: ['*'] });
      await ok('POST', `/changes/${narrowed.headers.get('postern-revision')}/undo`, {});
      await ok('PATCH', `/api_keys/${own.id}`, { scopes: ['edges:read', 'edges:write'] });
    });

    test('a narrow key does not delete, narrow or confirm away a key that a revert would give all scopes again', async () => {
      await settled();
      const keys = await keyWith('api_keys:read', 'api_keys:write', 'edges:read', 'changes:write', 'changes:read');
      const { id } = (await ok('POST', '/api_keys', { scopes: ['*'] })).body;
      const path = `/api_keys/${id}`;
      const { revision } = (await change(path, { scopes: ['edges:read'] }, '1h')).body;
      await inSync();
      const asked = [
        await other.api('DELETE', path, undefined, { key: keys }),
        await other.api('PATCH', path, { description: 'x' }, { key: keys }),
        await other.api('POST', '/changesets', { operations: [{ method: 'DELETE', path }] }, { key: keys }),
        await other.api('POST', `/changes/${revision}/confirm`, {}, { key: keys }),
        await other.api('POST', `/changes/${revision}/revert`, {}, { key: keys }),
      ];
      assert.deepEqual(
        asked.map(({ status }) => status),
        [403, 403, 403, 403, 403],
      );
      await ok('DELETE', path);
      await settled();
    });
  });
}
