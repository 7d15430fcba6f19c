import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import type { NewPasskey } from '../../src/control/identity/contracts.ts';
import { People } from '../../src/control/identity/people.ts';
import { freshDatabase, startPostgres } from '../support/postgres.ts';
import { TestWorld } from '../support/test-world.ts';

const postgres = await startPostgres();
after(() => postgres.stop());

let ids = 0;
const newId = (prefix: string): string => {
  ids += 1;
  return `${prefix}_${String(ids).padStart(27, '0')}`;
};
const passkey = (credentialId: string, fields: Partial<NewPasskey> = {}): NewPasskey => ({
  ...{ name: 'Laptop', credentialId, publicKey: 'key', signCount: 0, transports: ['internal'] },
  ...{ isBackedUp: true, deviceType: 'multiDevice', ...fields },
});

for (const engine of ['sqlite', 'postgres'] as const) {
  suite(`people on ${engine}`, async () => {
    const databaseUrl = engine === 'postgres' ? (await freshDatabase(postgres)).url : undefined;
    let nowMs = Date.parse('2026-11-16T09:00:00Z');
    const clock = { nowMs: () => nowMs };
    const env = { POSTERN_IDENTITY_HOST: 'id.example.com' };
    const world = await TestWorld.open({ after }, { clock, env, ...(databaseUrl !== undefined && { databaseUrl }) });
    const { replica } = world.server;
    const open = (hostname: string) => {
      const address = { hostname, issuer: `https://${hostname}` };
      const ports = { store: world.store, replica, clock, address, newId, mail: () => null };
      const people = new People({
        ...ports,
        passkeyEvent: () => [],
        logOut: () => assert.fail(),
        coversScopes: (scopes, wanted) => wanted.every((scope) => scopes.includes('*') || scopes.includes(scope)),
        consoleScopesOf: () => [],
      });
      after(() => people.close());
      return people;
    };
    const people = open('id.example.com');
    const invite = async (email: string) => {
      const { body } = await world.api('POST', '/user_accounts', { email });
      return {
        id: body.id as string,
        uri: body.uri as string,
        secret: String(body.invitation_url).split('=')[1] ?? '',
      };
    };

    test('an invitation is accepted once: of two at once, one wins', async () => {
      const { id, secret } = await invite('one@example.com');
      assert.deepEqual(await people.invitation(secret), {
        account: { id, email: 'one@example.com', name: '', isActive: true },
        expiresAtMs: nowMs + 72 * 3_600_000,
      });
      const both = await Promise.all(
        ['a', 'b'].map((each) => people.acceptInvitation(secret, passkey(`${engine}${each}`))),
      );
      assert.deepEqual(both.map((each) => ('problem' in each ? each.problem : each.account.id)).sort(), ['spent', id]);
      assert.deepEqual(people.passkeysOf(id).length, 1);
      assert.deepEqual(await people.invitation(secret), { problem: 'spent' });
    });

    test('names what is wrong with a link', async () => {
      const { uri, secret } = await invite('two@example.com');
      assert.deepEqual(await people.invitation('postern_ui_x'), { problem: 'unknown' });
      const forged = `${secret.slice(0, -1)}${secret.endsWith('0') ? '1' : '0'}`;
      assert.deepEqual(await people.invitation(forged), { problem: 'unknown' });
      await world.api('POST', `${uri}/invite`);
      assert.deepEqual(await people.invitation(secret), { problem: 'replaced' });
      const third = await invite('three@example.com');
      nowMs += 72 * 3_600_000;
      assert.deepEqual(await people.invitation(third.secret), { problem: 'expired' });
      assert.deepEqual(await people.acceptInvitation(third.secret, passkey('late')), { problem: 'expired' });
    });

    test('a credential belongs to one person, and a refused registration spends nothing', async () => {
      const [one, two] = [await invite('four@example.com'), await invite('five@example.com')];
      assert.ok('account' in (await people.acceptInvitation(one.secret, passkey('same'))));
      assert.deepEqual(await people.acceptInvitation(two.secret, passkey('same')), { problem: 'taken' });
      assert.equal(await people.addPasskey(two.id, passkey('same'), null), 'taken');
      assert.ok('account' in (await people.invitation(two.secret)));
      assert.equal(people.passkeyByCredential('same')?.accountId, one.id);
    });

    test('the last passkey stays, also when two are removed at once', async () => {
      const { id } = await invite('six@example.com');
      for (const name of ['six-a', 'six-b']) assert.equal(await people.addPasskey(id, passkey(name), null), 'added');
      const both = people.passkeysOf(id).map((each) => each.id);
      const removed = await Promise.all(both.map((each) => people.removePasskey(each)));
      assert.deepEqual(removed.sort(), ['last', 'removed']);
      assert.equal(people.passkeysOf(id).length, 1);
    });

    test('a sign count that was seen before is refused, unless the authenticator does not count', async () => {
      const { id } = await invite('seven@example.com');
      await people.addPasskey(id, passkey('counts', { signCount: 5 }), null);
      await people.addPasskey(id, passkey('zero'), null);
      const use = async (credential: string, signCount: number) => {
        const found = people.passkeyByCredential(credential);
        assert.ok(found);
        return people.recordPasskeyUse(found, { signCount, atMs: nowMs });
      };
      assert.deepEqual([await use('counts', 5), await use('counts', 6), await use('counts', 6)], [false, true, false]);
      const both = await Promise.all([use('counts', 7), use('counts', 7)]);
      assert.equal(both.filter((isRecorded) => isRecorded).length, 1);
      assert.equal(await use('counts', 0), false);
      assert.deepEqual([await use('zero', 0), await use('zero', 0)], [true, true]);
      assert.equal(people.passkeyByCredential('counts')?.signCount, 7);
    });

    test('a passkey of another identity host is not found, and is no way in', async () => {
      const { id } = await invite('eight@example.com');
      await open('old.example.com').addPasskey(id, passkey('old'), null);
      await people.addPasskey(id, passkey('new'), null);
      assert.equal(people.passkeyByCredential('old'), undefined);
      assert.deepEqual(
        people.passkeysOf(id).map((each) => each.credentialId),
        ['new'],
      );
      assert.equal(await people.removePasskey(people.passkeysOf(id)[0]?.id ?? ''), 'last');
    });

    test('a disabled or deleted person gets no passkey', async () => {
      const { id, uri, secret } = await invite('nine@example.com');
      await world.api('PATCH', uri, { active: false });
      assert.equal(await people.addPasskey(id, passkey('nine'), null), 'gone');
      assert.deepEqual(await people.acceptInvitation(secret, passkey('nine')), { problem: 'spent' });
      await world.api('DELETE', uri);
      assert.equal(await people.addPasskey(id, passkey('nine'), null), 'gone');
      assert.equal(people.account(id), undefined);
    });

    test('addresses are found as access rules compare them, after a change too', async () => {
      const { id, uri } = await invite('Ten@Example.com');
      assert.equal(people.accountByEmail('tEN@example.COM')?.id, id);
      await world.api('PATCH', uri, { email: 'ten@other.example' });
      assert.equal(people.accountByEmail('ten@example.com'), undefined);
      assert.equal(people.accountByEmail('ten@other.example')?.id, id);
    });

    test('a login is noted once a minute, and the ETag of the account stays', async () => {
      const { id, uri } = await invite('eleven@example.com');
      const before = await world.api('GET', uri);
      await people.recordLogin(id, nowMs);
      await people.recordLogin(id, nowMs + 59_000);
      const after = await world.api('GET', uri);
      assert.equal(Date.parse(after.body.last_login_at), nowMs);
      assert.equal(after.headers.get('etag'), before.headers.get('etag'));
    });
  });
}
