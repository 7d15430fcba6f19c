import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, suite, test } from 'node:test';
import { IDENTITY_ORIGIN, IdentityWorld } from '../support/identity-world.ts';
import { freshDatabase, startPostgres } from '../support/postgres.ts';
import { SoftAuthenticator } from '../support/soft-authenticator.ts';

/** Two servers on one PostgreSQL: either serves any step of a login. */
const postgres = await startPostgres();
const database = await freshDatabase(postgres);
const options = { env: { POSTERN_SECRET_KEY: randomBytes(32).toString('base64') }, databaseUrl: database.url };
const one = await IdentityWorld.open({ after }, options);
const other = await IdentityWorld.open({ after }, options);
after(() => postgres.stop());
const newDevice = (counts = false): SoftAuthenticator => new SoftAuthenticator(IDENTITY_ORIGIN, { counts });

suite('logging in at two nodes', () => {
  test('each step of an invitation and of a login may be at another node', async () => {
    const { url } = await one.invite('ana@example.com');
    const browser = one.browser();
    const there = browser.at(other);
    const { pathname, search, searchParams } = new URL(url);
    assert.equal((await there.open(`${pathname}${search}`)).status, 200);
    const fields = { invite: searchParams.get('invite') ?? '' };
    const created = await browser.options('/invitation/options', fields);
    const device = newDevice();
    const response = JSON.stringify(device.create(created as never));
    assert.equal((await there.submit('/invitation/passkey', { ...fields, response })).status, 303);
    assert.equal((await browser.open('/account')).status, 200);
    await there.submit('/account/sign-out');
    assert.equal((await browser.open('/account')).headers['location'], '/sign-in');
    const asked = await there.options('/sign-in/options');
    const loggedIn = await browser.submit('/sign-in/passkey', { response: JSON.stringify(device.get(asked)) });
    assert.equal(loggedIn.status, 303);
    assert.equal((await there.open('/account')).status, 200);
  });

  test('of two that accept one invitation at different nodes, one wins', async () => {
    const { id, url } = await one.invite('race@example.com');
    const answers = await Promise.all([one, other].map((world) => world.browser().accept(url, newDevice())));
    assert.deepEqual(
      answers.map(({ status }) => status).sort((a, b) => a - b),
      [303, 410],
    );
    assert.equal((await one.edge.api('GET', `/user_accounts/${id}/passkeys`)).passkeys.length, 1);
  });

  test('an answer that is sent to both nodes at once is good at one', async () => {
    const { device } = await one.person('replay@example.com');
    const browser = one.browser();
    await browser.open('/sign-in');
    const response = JSON.stringify(device.get(await browser.options('/sign-in/options')));
    await other.edge.world.server.replica.refresh();
    const copies = [browser.copy(), browser.copy().at(other)];
    const answers = await Promise.all(copies.map((copy) => copy.submit('/sign-in/passkey', { response })));
    assert.deepEqual(
      answers.map(({ status }) => status).sort((a, b) => a - b),
      [303, 403],
    );
  });

  test('two copies of one security key that are used at once cannot both log in', async () => {
    const { url } = await one.invite('cloned@example.com');
    const device = newDevice(true);
    assert.equal((await one.browser().accept(url, device)).status, 303);
    await other.edge.world.server.replica.refresh();
    const copy = device.copy();
    const answers = await Promise.all([one.browser().logIn(device), other.browser().logIn(copy)]);
    assert.deepEqual(
      answers.map(({ status }) => status).sort((a, b) => a - b),
      [303, 403],
    );
    assert.match(answers.find(({ status }) => status === 403)?.text ?? '', /may have been copied/);
  });

  test('a person who is disabled at one node is logged out at the other', async () => {
    const { id, browser, device } = await one.person('out@example.com');
    assert.equal((await browser.at(other).open('/account')).status, 200);
    await one.edge.api('PATCH', `/user_accounts/${id}`, { active: false });
    await other.edge.world.server.replica.refresh();
    assert.equal((await browser.at(other).open('/account')).headers['location'], '/sign-in');
    assert.match((await other.browser().logIn(device)).text, /account is disabled/);
  });
});
