import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { subjectIdentity } from '../../../src/kit/text/secrets.ts';
import type { IdentityArtifact, LoggedInApplication, LoginChange, Store } from '../../../src/store/store.ts';
import { newLogin } from './new-login.ts';
import { committed, type OpenStore, put } from './store-under-test.ts';

const ISSUER = 'https://id.example.com';
const LATER = Date.UTC(2100, 0, 1);
const WIKI: LoggedInApplication = { clientId: 'wiki', providerSessionId: 'sid-1' };
const GRANT = artifact('Grant', 'g1', { grantId: null, application: WIKI });
const END = { issuer: ISSUER, sessionUid: 's1', providerSessionId: 'sid-1' };

/** Live state of Postern's own OpenID provider. */
export function identity(openStore: OpenStore): void {
  suite('identity', { concurrency: 3 }, () => {
    test('begins a session only for a person who exists and is active', async (t) => {
      const { store } = await openStore(t);
      await committed(store, { puts: [put('user_account', 'ua_off', { doc: { active: false } })] });
      assert.equal(await store.identity.beginSession(session('s1', 'ua_none'), person('ua_none')), false);
      assert.equal(await store.identity.beginSession(session('s1', 'ua_off'), person('ua_off')), false);
      assert.equal(await store.identity.findSession('s1'), null);
      await withSession(store);
      assert.deepEqual((await store.identity.findSession('s1'))?.payload, { uid: 's1' });
      assert.deepEqual((await store.identity.find('Session', 'cookie-s1'))?.payload, { uid: 's1' });
    });

    test('writes a grant only while its session exists, and everything else only while its grant exists', async (t) => {
      const { store } = await openStore(t);
      assert.equal(await store.identity.put(GRANT), false);
      await withSession(store);
      assert.equal(await store.identity.put(artifact('AuthorizationCode', 'c1')), false);
      assert.equal(await store.identity.put({ ...GRANT, accountId: 'ua_2' }), false);
      assert.equal(await store.identity.put(GRANT), true);
      assert.equal(await store.identity.put(artifact('AuthorizationCode', 'c1', { accountId: 'ua_2' })), false);
      assert.equal(await store.identity.put(artifact('AuthorizationCode', 'c1')), true);
      await store.identity.removeGrant('g1');
      assert.equal(await store.identity.find('AuthorizationCode', 'c1'), null);
      assert.equal(await store.identity.find('Grant', 'g1'), null);
      assert.equal(await store.identity.put(artifact('AccessToken', 't1')), false);
    });

    test('remembers a decision of a session that exists, also after it, until the person ends', async (t) => {
      const opened = await openStore(t);
      const { store } = opened;
      const decision = artifact('AgentConsent', 'd1', { grantId: null });
      assert.equal(await store.identity.remember(decision), false);
      await withSession(store);
      assert.equal(await store.identity.remember({ ...decision, accountId: 'ua_2' }), false);
      assert.equal(await store.identity.remember(decision), true);
      assert.equal(await store.identity.remember(decision), true);
      await store.identity.endSession(END);
      assert.equal(await store.identity.remember({ ...decision, id: 'd2' }), false);
      const again = await opened.reopen();
      assert.notEqual(await again.identity.find('AgentConsent', 'd1'), null);
      await committed(again, { endsPeople: [{ issuer: ISSUER, accountId: 'ua_1' }] });
      assert.equal(await again.identity.find('AgentConsent', 'd1'), null);
    });

    test('consumes a code for one of many callers, which a later write does not undo', async (t) => {
      const opened = await openStore(t);
      const { store } = opened;
      await withGrant(store);
      const answers = await Promise.all(
        Array.from({ length: 10 }, () => store.identity.consume('AuthorizationCode', 'c1')),
      );
      assert.equal(answers.filter(Boolean).length, 1);
      assert.equal(await store.identity.put(artifact('AuthorizationCode', 'c1')), true);
      const again = await opened.reopen();
      assert.equal(await again.identity.consume('AuthorizationCode', 'c1'), false);
      assert.notEqual((await again.identity.find('AuthorizationCode', 'c1'))?.consumedAtMs, null);
      assert.equal(await again.identity.consume('AuthorizationCode', 'unknown'), false);
    });

    test('replaces a session under a new id, and not one that has ended', async (t) => {
      const { store } = await openStore(t);
      await withSession(store);
      const moved = { ...session('s1', 'ua_1'), id: 'cookie-2', payload: { uid: 's1', moved: true } };
      assert.equal(await store.identity.replaceSession(moved), true);
      assert.equal(await store.identity.find('Session', 'cookie-s1'), null);
      assert.deepEqual((await store.identity.find('Session', 'cookie-2'))?.payload, moved.payload);
      const other = { ...moved, accountId: 'ua_2' };
      assert.equal(await store.identity.replaceSession(other), false);
      await store.identity.endSession(END);
      assert.equal(await store.identity.replaceSession(moved), false);
      assert.deepEqual(await store.identity.list('Session', 'ua_1'), []);
    });

    test('ends a session with its grants and its logins on routes, and no other', async (t) => {
      const { store } = await openStore(t);
      await withGrant(store);
      await store.identity.beginSession(session('s2', 'ua_1'), person('ua_1'));
      const ours = { issuer: ISSUER, clientId: 'wiki' };
      await store.logins.recordLogin(newLogin('as_1', { ...ours, providerSessionId: 'sid-1' }));
      await store.logins.recordLogin(newLogin('as_2', { ...ours, providerSessionId: 'sid-2' }));
      const heard = heardBy(store);
      assert.equal(await store.identity.endSession(END), true);
      assert.equal(await store.identity.endSession(END), false);
      assert.deepEqual(heard, ['end as_1']);
      assert.equal(await store.identity.find('Grant', 'g1'), null);
      assert.equal(await store.identity.find('AuthorizationCode', 'c1'), null);
      assert.equal((await store.identity.list('Session', 'ua_1')).length, 1);
      assert.deepEqual(await claimed(store), [WIKI]);
    });

    test('ends one application of a session: its grant and its logins on routes, and nothing else', async (t) => {
      const opened = await openStore(t);
      const { store } = opened;
      await withGrant(store);
      assert.equal(await store.identity.put({ ...GRANT, id: 'g2', application: { ...WIKI, clientId: 'mail' } }), true);
      await store.identity.beginSession(session('s2', 'ua_1'), person('ua_1'));
      for (const [id, clientId, providerSessionId, issuer] of [
        ['as_1', 'wiki', 'sid-1', ISSUER],
        ['as_2', 'mail', 'sid-1', ISSUER],
        ['as_3', 'wiki', 'sid-2', ISSUER],
        ['as_4', 'wiki', 'sid-1', 'https://other.example.com'],
      ] as const)
        await store.logins.recordLogin(newLogin(id, { issuer, clientId, providerSessionId }));
      const heard = heardBy(store);
      const ended = { ...END, clientId: 'wiki' };
      assert.equal(await store.identity.endApplication(ended, () => null), false);
      const without = () => ({ payload: { uid: 's1', left: 'mail' }, grantId: 'g1' });
      assert.equal(await store.identity.endApplication({ ...ended, sessionUid: 'none' }, without), false);
      assert.deepEqual([heard, await claimed(store)], [[], []]);
      assert.equal(await store.identity.endApplication(ended, without), true);
      assert.deepEqual([heard, await claimed(store)], [['end as_1'], [WIKI]]);
      const again = await opened.reopen();
      assert.deepEqual((await again.identity.find('Session', 'cookie-s1'))?.payload, { uid: 's1', left: 'mail' });
      assert.equal(await again.identity.find('AuthorizationCode', 'c1'), null);
      assert.equal(await again.identity.put(artifact('AccessToken', 't1')), false);
      assert.notEqual(await again.identity.find('Grant', 'g2'), null);
      assert.equal((await again.identity.list('Session', 'ua_1')).length, 2);
    });

    test('an application leaves the session as it is then, not as it was read', async (t) => {
      const { store } = await openStore(t);
      await withGrant(store);
      const moved = { ...session('s1', 'ua_1'), id: 'cookie-2', payload: { uid: 's1', moved: true } };
      const moving: Promise<boolean>[] = [];
      const seen: unknown[] = [];
      const isEnded = await store.identity.endApplication({ ...END, clientId: 'wiki' }, (payload) => {
        seen.push(payload);
        // Sent before the write of the end.
        if (moving.length === 0) moving.push(store.identity.replaceSession(moved));
        return { payload: { ...payload, ended: true }, grantId: 'g1' };
      });
      assert.deepEqual([isEnded, await Promise.all(moving), seen], [true, [true], [{ uid: 's1' }, moved.payload]]);
      assert.equal(await store.identity.find('Session', 'cookie-s1'), null);
      assert.deepEqual((await store.identity.find('Session', 'cookie-2'))?.payload, { ...moved.payload, ended: true });
    });

    for (const where of ['alone', 'with a put', 'with a delete'] as const) {
      test(`ends people ${where}: everything of theirs, and nothing of others`, async (t) => {
        const { store } = await openStore(t);
        await withGrant(store);
        await committed(store, { puts: [put('user_account', 'ua_2'), put('session', 'x')] });
        await store.identity.beginSession(session('s2', 'ua_2'), person('ua_2'));
        const login = (id: string, accountId: string, issuer = ISSUER) =>
          store.logins.recordLogin({
            ...newLogin(id, { issuer, userId: `au_${id}` }),
            identity: subjectIdentity(issuer, accountId),
          });
        await login('as_1', 'ua_1');
        await login('as_2', 'ua_2');
        await login('as_3', 'ua_1', 'https://other.example.com');
        const heard = heardBy(store);
        const seq = await store.logins.currentSeq();
        const endsPeople = [{ issuer: ISSUER, accountId: 'ua_1' }];
        const changed = put('user_account', 'ua_1', { doc: { active: false } });
        const { revision } = await committed(
          store,
          where === 'alone'
            ? { endsPeople }
            : where === 'with a put'
              ? { puts: [changed], endsPeople }
              : { deletes: [person('ua_1')], endsPeople },
        );
        assert.deepEqual(heard, ['end as_1']);
        assert.equal(await store.currentRevision(), revision);
        assert.equal((await store.logins.changesSince(seq)).changes.length, 1);
        assert.deepEqual(await store.identity.list('Session', 'ua_1'), []);
        assert.equal(await store.identity.find('AuthorizationCode', 'c1'), null);
        assert.equal((await store.identity.list('Session', 'ua_2')).length, 1);
        assert.deepEqual(await claimed(store), [WIKI]);
        // A write that was in progress brings nothing back.
        assert.equal(await store.identity.replaceSession(session('s1', 'ua_1')), false);
        assert.equal(await store.identity.put(artifact('AccessToken', 't1')), false);
        assert.equal(await store.identity.put({ ...GRANT, id: 'g9' }), false);
      });
    }

    test('a refused or tried write ends nobody', async (t) => {
      const { store } = await openStore(t);
      await withSession(store);
      const endsPeople = [{ issuer: ISSUER, accountId: 'ua_1' }];
      const stale = { expect: [{ kind: 'user_account', id: 'ua_1', revision: 999 }] };
      assert.equal((await store.commit({ ...stale, endsPeople })).ok, false);
      assert.equal((await store.commit({ isDryRun: true, endsPeople })).ok, true);
      assert.equal((await store.identity.list('Session', 'ua_1')).length, 1);
    });

    test('forgets what has expired', async (t) => {
      const { store } = await openStore(t);
      await withGrant(store);
      await store.identity.put({ ...artifact('AccessToken', 't1'), expiresAtMs: 1_000 });
      assert.equal(await store.identity.find('AccessToken', 't1'), null);
      await store.prune(Date.now());
      assert.notEqual(await store.identity.find('AuthorizationCode', 'c1'), null);
      assert.equal(await store.identity.consume('AccessToken', 't1'), false);
    });

    test('gives a due logout to one caller, again later, and not once it is settled', async (t) => {
      const { store } = await openStore(t);
      await withGrant(store);
      await store.identity.endSession(END);
      const now = Date.now() + 1_000;
      assert.deepEqual([await store.identity.hasDueLogouts(1), await store.identity.hasDueLogouts(now)], [false, true]);
      const [first, second] = await Promise.all([
        store.identity.claimLogouts(now, now + 60_000),
        store.identity.claimLogouts(now, now + 60_000),
      ]);
      assert.deepEqual([first.length + second.length, (first[0] ?? second[0])?.attempts], [1, 1]);
      const [again] = await store.identity.claimLogouts(now + 60_000, now + 120_000);
      assert.deepEqual([again?.accountId, again?.clientId, again?.attempts], ['ua_1', 'wiki', 2]);
      await store.identity.settleLogouts([again?.id ?? '']);
      assert.deepEqual(await store.identity.claimLogouts(now + 200_000, now + 300_000), []);
    });
  });
}

function person(id: string) {
  return { kind: 'user_account', id };
}

function session(uid: string, accountId: string): IdentityArtifact {
  return {
    model: 'Session',
    id: `cookie-${uid}`,
    accountId,
    grantId: null,
    sessionUid: uid,
    application: null,
    payload: { uid },
    expiresAtMs: LATER,
  };
}

function artifact(model: string, id: string, given: Partial<IdentityArtifact> = {}): IdentityArtifact {
  return {
    model,
    id,
    accountId: 'ua_1',
    grantId: 'g1',
    sessionUid: 's1',
    application: null,
    payload: { id },
    expiresAtMs: LATER,
    ...given,
  };
}

async function withSession(store: Store): Promise<void> {
  await committed(store, { puts: [put('user_account', 'ua_1')] });
  assert.equal(await store.identity.beginSession(session('s1', 'ua_1'), person('ua_1')), true);
}

async function withGrant(store: Store): Promise<void> {
  await withSession(store);
  assert.equal(await store.identity.put(GRANT), true);
  assert.equal(await store.identity.put(artifact('AuthorizationCode', 'c1')), true);
}

function heardBy(store: Store): string[] {
  const heard: string[] = [];
  store.logins.onChanged((changes: readonly LoginChange[]) => {
    for (const { op, sessionId } of changes) heard.push(`${op} ${sessionId}`);
  });
  return heard;
}

async function claimed(store: Store): Promise<readonly LoggedInApplication[]> {
  const due = await store.identity.claimLogouts(Date.now() + 1_000, LATER);
  return due.map(({ clientId, providerSessionId }) => ({ clientId, providerSessionId }));
}
