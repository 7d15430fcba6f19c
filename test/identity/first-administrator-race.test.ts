import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, suite, test } from 'node:test';
import type { NewPasskey } from '../../src/control/identity/contracts.ts';
import { People } from '../../src/control/identity/people.ts';
import { type Replica, ReplicaCopy } from '../../src/store/replica/replica.ts';
import { freshDatabase, startPostgres } from '../support/postgres.ts';
import { TestWorld } from '../support/test-world.ts';

const postgres = await startPostgres();
after(() => postgres.stop());
const database = await freshDatabase(postgres);
const env = {
  POSTERN_IDENTITY_HOST: 'id.example.com',
  POSTERN_SECRET_KEY: randomBytes(32).toString('base64'),
};
const options = { env, databaseUrl: database.url };
const one = await TestWorld.open({ after }, options);
const other = await TestWorld.open({ after }, options);

let ids = 0;
function peopleAt(world: TestWorld, replica: Replica = world.server.replica): People {
  const people = new People({
    ...{ store: world.store, replica, clock: { nowMs: () => Date.now() }, mail: () => null, passkeyEvent: () => [] },
    logOut: async () => {},
    address: { hostname: 'id.example.com', issuer: 'https://id.example.com' },
    newId: (prefix) => {
      ids += 1;
      return `${prefix}_${String(ids).padStart(27, '0')}`;
    },
    coversScopes: (scopes, wanted) => wanted.every((scope) => scopes.includes('*') || scopes.includes(scope)),
    consoleScopesOf: ({ groups }) => ((groups as string[]).includes('postern-admins') ? ['*'] : []),
  });
  after(() => people.close());
  return people;
}

/** A node that has heard of nothing since now, until it asks. */
function lateReplica({ server: { replica } }: TestWorld): Replica {
  const copy = new ReplicaCopy(async () => {
    await replica.refresh();
    for (const kind of replica.kinds())
      copy.show([...replica.all(kind)].map((record) => ({ op: 'put', record }) as const));
  });
  for (const kind of replica.kinds()) copy.fill([...replica.all(kind)]);
  copy.filled();
  return copy as unknown as Replica;
}

function passkey(credentialId: string): NewPasskey {
  const facts = { name: 'Laptop', credentialId, publicKey: 'k', signCount: 0, transports: [], isBackedUp: true };
  return { ...facts, deviceType: 'multiDevice' };
}

const secretOf = (link: string | null): string =>
  new URL(link ?? assert.fail('no link')).searchParams.get('invite') ?? '';

suite('the first administrator of two nodes', () => {
  test('is one account with one link, if both nodes make it at once', async () => {
    const [first] = (await one.api('GET', '/user_accounts')).body.user_accounts;
    await one.api('DELETE', first.uri);
    const made = await Promise.all([one, other].map(({ server }) => server.administratorLink()));
    const accounts = (await one.api('GET', '/user_accounts')).body.user_accounts;
    assert.deepEqual(
      accounts.map(({ email }: { email: string }) => email),
      ['admin@id.example.com'],
    );
    const people = peopleAt(one);
    const links = made.filter((link) => link !== null);
    const found = await Promise.all(links.map((link) => people.invitation(secretOf(link))));
    assert.equal(found.filter((each) => 'account' in each).length, 1);
  });

  test('is one of many who redeem the link at both nodes at once', async () => {
    const secret = secretOf(await one.server.administratorLink());
    await other.server.replica.refresh();
    const [here, there] = [peopleAt(one), peopleAt(other)];
    const answers = await Promise.all(
      [here, there, here, there, here, there].map((people, at) =>
        people.acceptInvitation(secret, passkey(`race-${at}`)),
      ),
    );
    const winners = answers.filter((answer) => 'account' in answer);
    assert.equal(winners.length, 1, JSON.stringify(answers));
    assert.equal(answers.filter((answer) => 'problem' in answer && answer.problem === 'spent').length, 5);
    const [account] = (await one.api('GET', '/user_accounts')).body.user_accounts;
    assert.equal((await one.api('GET', `/user_accounts/${account.id}/passkeys`)).body.passkeys.length, 1);
    assert.deepEqual([await one.server.administratorLink(), await other.server.administratorLink()], [null, null]);
    await one.api('DELETE', account.uri);
  });

  test('is nobody if another administrator exists, of whom this node has not heard', async () => {
    const secret = secretOf(await one.server.administratorLink());
    const body = { email: 'ana@example.com', groups: ['postern-admins'] };
    const ana = (await one.api('POST', '/user_accounts', body)).body;
    await other.server.replica.refresh();
    const late = peopleAt(other, lateReplica(other));
    assert.ok('account' in (await peopleAt(one).acceptInvitation(secretOf(ana.invitation_url), passkey('ana'))));
    assert.deepEqual(await late.acceptInvitation(secret, passkey('late')), { problem: 'spent' });
    assert.deepEqual(await late.invitation(secret), { problem: 'spent' });
  });
});
