import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { IDENTITY_HOST, IDENTITY_ORIGIN, IdentityWorld } from '../support/identity-world.ts';
import { SoftAuthenticator } from '../support/soft-authenticator.ts';

const world = await IdentityWorld.open({ after });
const passkeysOf = async (id: string): Promise<readonly { id: string; name: string }[]> =>
  (await world.edge.api('GET', `/user_accounts/${id}/passkeys`)).passkeys;
const codeOf = (answer: { headers: Readonly<Record<string, unknown>> }): unknown =>
  answer.headers['postern-error-code'];
const newDevice = (): SoftAuthenticator => new SoftAuthenticator(IDENTITY_ORIGIN);

suite('invitations', () => {
  test('opening one changes nothing, and accepting it logs the person in with a passkey', async () => {
    const { id, url } = await world.invite('ana@example.com', { name: 'Ana <b>' });
    const browser = world.browser();
    const { pathname, search } = new URL(url);
    for (const _ of [1, 2]) {
      const page = await browser.open(`${pathname}${search}`);
      assert.equal(page.status, 200);
      assert.match(page.text, /ana@example\.com/);
      assert.match(page.text, /Hello Ana &lt;b&gt;/);
    }
    assert.equal((await world.edge.api('GET', `/user_accounts/${id}`)).passkey_count, 0);
    const device = newDevice();
    const answer = await browser.accept(url, device);
    assert.deepEqual([answer.status, answer.headers['location']], [303, '/account?done=welcome']);
    const account = await browser.open('/account');
    assert.match(account.text, /You are logged in as Ana &lt;b&gt;, <strong>ana@example\.com/);
    assert.equal((await passkeysOf(id)).length, 1);
    assert.equal((await world.browser().logIn(device)).headers['location'], '/account');
  });

  test('of two browsers that accept one at once, one wins', async () => {
    const { id, url } = await world.invite('race@example.com');
    const fields = { invite: new URL(url).searchParams.get('invite') ?? '' };
    const attempts = await Promise.all(
      [1, 2, 3].map(async () => {
        const browser = world.browser();
        await browser.open(new URL(url).pathname + new URL(url).search);
        const options = await browser.options('/invitation/options', fields);
        const response = JSON.stringify(newDevice().create(options as never));
        return () => browser.submit('/invitation/passkey', { ...fields, response });
      }),
    );
    const answers = await Promise.all(attempts.map((send) => send()));
    assert.deepEqual(
      answers.map(({ status }) => status).sort((a, b) => a - b),
      [303, 410, 410],
    );
    assert.equal((await passkeysOf(id)).length, 1);
    const again = await world.browser().accept(url, newDevice());
    assert.deepEqual([again.status, codeOf(again)], [410, 'ERR_POSTERN_IDENTITY_INVITATION']);
    assert.match(again.text, /already used/);
  });

  test("a passkey is not registered in somebody else's session, which ends before", async () => {
    const ana = await world.person('session-of@example.com');
    const { id, url } = await world.invite('invited@example.com');
    const { pathname, search, searchParams } = new URL(url);
    const page = await ana.browser.open(`${pathname}${search}`);
    assert.match(page.text, /You are logged in as <strong>session-of@example\.com/);
    const stolen = ana.browser.copy();
    const fields = { invite: searchParams.get('invite') ?? '' };
    assert.equal((await stolen.open('/account')).status, 200);
    const options = await ana.browser.options('/invitation/options', fields);
    assert.equal((await stolen.open('/account')).headers['location'], '/sign-in');
    const response = JSON.stringify(newDevice().create(options as never));
    assert.equal((await ana.browser.submit('/invitation/passkey', { ...fields, response })).status, 303);
    assert.match((await ana.browser.open('/account')).text, /<strong>invited@example\.com/);
    assert.deepEqual([(await passkeysOf(ana.id)).length, (await passkeysOf(id)).length], [1, 1]);
  });

  test('an expired, a replaced, an invented and a cut one each get their own advice', async () => {
    const { id, url } = await world.invite('late@example.com');
    await world.edge.api('POST', `/user_accounts/${id}/invite`, {});
    const replaced = await world.browser().accept(url, newDevice());
    assert.match(replaced.text, /A newer invitation replaced this one/);
    const cut = await world.browser().accept(url.slice(0, -3), newDevice());
    assert.match(cut.text, /Check that its address is complete/);
    const { url: fresh } = await world.invite('later@example.com');
    world.clock.advance(73 * 3600);
    const expired = await world.browser().accept(fresh, newDevice());
    world.clock.reset();
    assert.match(expired.text, /has expired/);
    for (const answer of [replaced, cut, expired]) assert.equal(answer.status, 410);
  });

  test('a page that embeds an invitation learns nothing', async () => {
    const { url } = await world.invite('embedded@example.com');
    const { pathname, search } = new URL(url);
    const headers = { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'iframe' };
    const answer = await world.browser().open(`${pathname}${search}`, headers);
    assert.deepEqual([answer.status, answer.text.includes('embedded@example.com')], [410, false]);
  });
});

suite('logging in', () => {
  test('an answer is good once, in the browser that asked', async () => {
    const { device } = await world.person('once@example.com');
    const browser = world.browser();
    await browser.open('/sign-in');
    const response = JSON.stringify(device.get(await browser.options('/sign-in/options')));
    const other = world.browser();
    await other.open('/sign-in');
    const foreign = await other.submit('/sign-in/passkey', { response });
    assert.deepEqual([foreign.status, codeOf(foreign)], [403, 'ERR_POSTERN_IDENTITY_PASSKEY']);
    assert.equal((await browser.submit('/sign-in/passkey', { response })).status, 303);
    const replayed = await browser.submit('/sign-in/passkey', { response });
    assert.match(replayed.text, /used before/);
  });

  test('answers do not tell whether an address or a passkey has an account', async () => {
    const browser = world.browser();
    await browser.open('/sign-in');
    const known = await browser.options('/sign-in/options', { email: 'once@example.com' });
    const unknown = await browser.options('/sign-in/options', { email: 'nobody@example.com' });
    assert.deepEqual(Object.keys(known), Object.keys(unknown));
    assert.equal(known.challenge.length, unknown.challenge.length);
    assert.equal(known.allowCredentials, undefined);
  });

  test('a disabled person cannot log in, and their session ends', async () => {
    const { id, browser, device } = await world.person('disabled@example.com');
    await world.edge.api('PATCH', `/user_accounts/${id}`, { active: false });
    assert.equal((await browser.open('/account')).headers['location'], '/sign-in');
    const answer = await world.browser().logIn(device);
    assert.match(answer.text, /account is disabled/);
  });

  test('failures from one address are limited, and a right passkey is let in again later', async () => {
    const own = await IdentityWorld.open({ after });
    const { device } = await own.person('limited@example.com');
    const browser = own.browser();
    await browser.open('/sign-in');
    const statuses: number[] = [];
    for (let tries = 0; tries < 90; tries += 1) {
      const answer = await browser.submit('/sign-in/passkey', { response: '{}' });
      statuses.push(answer.status);
      if (answer.status === 429) {
        assert.notEqual(answer.headers['retry-after'], undefined);
        break;
      }
    }
    assert.equal(statuses.at(-1), 429);
    own.clock.advance(120);
    assert.equal((await own.browser().logIn(device)).status, 303);
  });
});

suite('forms of other sites', () => {
  const FORMS = [
    '/sign-in/options',
    '/sign-in/passkey',
    '/invitation/options',
    '/invitation/passkey',
    '/account/confirm/options',
    '/account/confirm',
    '/account/passkeys/options',
    '/account/passkeys',
    '/account/passkeys/rename',
    '/account/passkeys/remove',
    '/account/sessions/end',
    '/account/applications/end',
    '/account/consents/withdraw',
    '/account/sign-out',
    '/account/sign-out-everywhere',
  ];
  const FOREIGN: readonly Readonly<Record<string, string>>[] = [
    { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
    { origin: `https://app.${IDENTITY_HOST}`, 'sec-fetch-site': 'same-site' },
    { origin: 'https://evil.example', 'sec-fetch-site': '' },
    { origin: 'null', 'sec-fetch-site': '' },
    { origin: '', 'sec-fetch-site': '' },
    { origin: IDENTITY_ORIGIN, 'sec-fetch-site': 'same-site' },
    { origin: IDENTITY_ORIGIN.replace('https', 'http'), 'sec-fetch-site': '' },
  ];

  test('are refused by every form, and change nothing', async () => {
    const { browser, id } = await world.person('csrf@example.com');
    const [passkey] = await passkeysOf(id);
    const fields = { id: passkey?.id ?? '', name: 'taken over' };
    for (const path of FORMS) {
      for (const headers of FOREIGN) {
        const answer = await browser.submit(path, fields, headers);
        assert.equal(answer.status, 403, `${path} ${JSON.stringify(headers)}`);
        assert.equal(codeOf(answer), 'ERR_POSTERN_IDENTITY_CROSS_SITE');
      }
    }
    assert.equal((await browser.open('/account')).status, 200);
    assert.notEqual((await passkeysOf(id))[0]?.name, 'taken over');
  });

  test("cannot log a browser in with the attacker's passkey", async () => {
    const attacker = await world.person('attacker@example.com');
    const evil = world.browser();
    await evil.open('/sign-in');
    const response = JSON.stringify(attacker.device.get(await evil.options('/sign-in/options')));
    const victim = world.browser();
    await victim.open('/sign-in');
    // Even if the victim's browser did not say where the form comes from, the answer belongs to another browser.
    const answer = await victim.submit('/sign-in/passkey', { response });
    assert.equal(answer.status, 403);
    assert.equal((await victim.open('/account')).headers['location'], '/sign-in');
  });
});

suite('pages', () => {
  test('cannot be framed, cached or given other code', async () => {
    const { browser } = await world.person('headers@example.com');
    const { url } = await world.invite('framed@example.com');
    const pages = [
      await browser.open('/account'),
      await world.browser().open('/sign-in'),
      await world.browser().open(new URL(url).pathname + new URL(url).search),
      await world.browser().open('/invitation?invite=wrong'),
      await world.browser().open('/sign-in?interaction=gone'),
    ];
    for (const { headers } of pages) {
      const policy = String(headers['content-security-policy']);
      assert.match(policy, /default-src 'none'/);
      assert.match(policy, /frame-ancestors 'none'/);
      assert.match(policy, /base-uri 'none'/);
      assert.doesNotMatch(policy, /unsafe|script-src[^;]*(?:\*|https?:|self)/);
      assert.equal(headers['x-frame-options'], 'DENY');
      assert.equal(headers['cache-control'], 'no-store');
      assert.equal(headers['x-content-type-options'], 'nosniff');
      assert.match(String(headers['permissions-policy']), /publickey-credentials-get=\(self\)/);
    }
    assert.equal(pages[2]?.headers['referrer-policy'], 'no-referrer');
  });

  test('set cookies that no sibling host can set, and ignore others', async () => {
    const browser = world.browser();
    const page = await browser.open('/sign-in');
    const cookies = [page.headers['set-cookie'] ?? []].flat();
    for (const cookie of cookies) {
      assert.match(cookie, /^__Host-postern-[^;]*; Path=\/; .*Secure; HttpOnly; SameSite=Lax$/);
    }
    // A sibling's cookie has no such name. In a value of its own it may hide one.
    const planted = 'x=1 __Host-postern-browser=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA';
    const sibling = world.browser();
    const answer = await sibling.submit('/sign-in/options', {}, { cookie: planted, accept: 'application/json' });
    assert.deepEqual([answer.status, codeOf(answer)], [400, 'ERR_POSTERN_IDENTITY_COOKIES']);
  });

  test('a request for an application that is over says so', async () => {
    const answer = await world.browser().open('/sign-in?interaction=gone');
    assert.deepEqual([answer.status, codeOf(answer)], [400, 'ERR_POSTERN_IDENTITY_REQUEST_OVER']);
  });
});

suite('my account', () => {
  test('a person adds, renames and removes passkeys, but not the last one', async () => {
    const { id, browser } = await world.person('keys@example.com');
    const second = newDevice();
    assert.equal((await browser.addPasskey(second)).headers['location'], '/account?done=added');
    const [one, other] = await passkeysOf(id);
    assert(one !== undefined && other !== undefined);
    const renamed = await browser.submit('/account/passkeys/rename', { id: one.id, name: '  <my> key\n ' });
    assert.equal(renamed.headers['location'], '/account?done=renamed');
    assert.match((await browser.open('/account?done=renamed')).text, /&lt;my&gt; key/);
    assert.equal((await browser.submit('/account/passkeys/remove', { id: one.id })).status, 303);
    const last = await browser.submit('/account/passkeys/remove', { id: other.id });
    assert.deepEqual([last.status, codeOf(last)], [409, 'ERR_POSTERN_IDENTITY_LAST_PASSKEY']);
    assert.equal((await passkeysOf(id)).length, 1);
  });

  test('of two passkeys that are removed at once, one stays', async () => {
    const { id, browser } = await world.person('both@example.com');
    await browser.addPasskey(newDevice());
    const passkeys = await passkeysOf(id);
    const answers = await Promise.all(
      passkeys.map((passkey) => browser.submit('/account/passkeys/remove', { id: passkey.id })),
    );
    assert.deepEqual(
      answers.map(({ status }) => status).sort((a, b) => a - b),
      [303, 409],
    );
    assert.equal((await passkeysOf(id)).length, 1);
  });

  test("somebody else's passkeys and sessions are out of reach", async () => {
    const victim = await world.person('victim@example.com');
    await victim.browser.addPasskey(newDevice());
    const thief = await world.person('thief@example.com');
    const [passkey] = await passkeysOf(victim.id);
    for (const path of ['/account/passkeys/remove', '/account/passkeys/rename']) {
      const answer = await thief.browser.submit(path, { id: passkey?.id ?? '', name: 'mine' });
      assert.equal(answer.status, 403, path);
    }
    const page = (await victim.browser.open('/account')).text;
    assert.match(page, /This browser/);
    assert.equal((await passkeysOf(victim.id)).length, 2);
    // A passkey of somebody else does not confirm.
    world.clock.advance(6 * 60);
    await thief.browser.open('/account');
    const confirmed = await thief.browser.confirm(victim.device);
    world.clock.reset();
    assert.match(confirmed.text, /belongs to another account/);
  });

  test('changing passkeys needs one that was used within five minutes', async () => {
    const { id, browser, device } = await world.person('stale@example.com');
    await browser.addPasskey(newDevice());
    const [passkey] = await passkeysOf(id);
    world.clock.advance(6 * 60);
    assert.match((await browser.open('/account')).text, /Confirm with a passkey/);
    for (const path of ['/account/passkeys/options', '/account/passkeys', '/account/passkeys/remove']) {
      const answer = await browser.submit(path, { id: passkey?.id ?? '' });
      assert.deepEqual([answer.status, codeOf(answer)], [403, 'ERR_POSTERN_IDENTITY_CONFIRM'], path);
    }
    const before = browser.copy();
    assert.equal((await browser.confirm(device)).headers['location'], '/account?done=confirmed');
    assert.match((await browser.open('/account')).text, /Add a passkey/);
    assert.match((await before.open('/account')).text, /Confirm with a passkey/);
    assert.equal((await browser.submit('/account/passkeys/remove', { id: passkey?.id ?? '' })).status, 303);
    world.clock.advance(5 * 60);
    assert.match((await browser.open('/account')).text, /Confirm with a passkey/);
    world.clock.reset();
  });

  test('a confirmation counts in its own session only', async () => {
    const ana = await world.person('confirms@example.com');
    const ben = await world.person('borrows@example.com');
    world.clock.advance(6 * 60);
    const confirmed = await ana.browser.confirm(ana.device);
    const [cookie = ''] = [confirmed.headers['set-cookie'] ?? []].flat();
    assert.match(cookie, /^__Host-postern-confirmed=/);
    ben.browser.jar.store(IDENTITY_ORIGIN, cookie);
    assert.match((await ana.browser.open('/account')).text, /Add a passkey/);
    assert.match((await ben.browser.open('/account')).text, /Confirm with a passkey/);
    world.clock.reset();
  });

  test('logging out ends the session also for a copy of the cookies', async () => {
    const { browser } = await world.person('stolen@example.com');
    const stolen = browser.copy();
    assert.equal((await stolen.open('/account')).status, 200);
    assert.equal((await browser.submit('/account/sign-out')).headers['location'], '/sign-in');
    assert.equal((await stolen.open('/account')).headers['location'], '/sign-in');
    const form = await stolen.submit('/account/passkeys/options');
    assert.deepEqual([form.status, codeOf(form)], [401, 'ERR_POSTERN_IDENTITY_SESSION']);
  });

  test('another session is listed and ended', async () => {
    const { browser, device } = await world.person('twice@example.com');
    const laptop = world.browser();
    await laptop.logIn(device);
    const page = (await browser.open('/account')).text;
    const [, other = ''] =
      /action="\/account\/sessions\/end"><input type="hidden" name="id" value="([^"]+)"/.exec(page) ?? [];
    assert.notEqual(other, '');
    assert.equal(
      (await browser.submit('/account/sessions/end', { id: other })).headers['location'],
      '/account?done=ended',
    );
    assert.equal((await laptop.open('/account')).headers['location'], '/sign-in');
    assert.equal((await browser.open('/account')).status, 200);
  });

  test('a person logs out everywhere, also while a change of the account waits for its confirmation', async () => {
    const { id, browser, device } = await world.person('everywhere@example.com');
    const laptop = world.browser();
    await laptop.logIn(device);
    const operations = [{ method: 'PATCH', path: `/user_accounts/${id}`, body: { name: 'On trial' } }];
    const { pending } = await world.edge.api('POST', '/changesets', { operations, confirm_within: '5m' });
    const answer = await browser.submit('/account/sign-out-everywhere');
    assert.deepEqual([answer.status, answer.headers['location']], [303, '/sign-in'], answer.text);
    await world.edge.api('POST', `/changes/${pending.revision}/confirm`);
    for (const each of [browser, laptop]) {
      assert.equal((await each.open('/account')).headers['location'], '/sign-in');
    }
    assert.equal((await passkeysOf(id)).length, 1);
    assert.equal((await world.browser().logIn(device)).headers['location'], '/account');
  });
});

suite('while a change waits for its confirmation', () => {
  async function onTrial(operation: object) {
    const body = { operations: [operation], confirm_within: '5m' };
    const { pending, results } = await world.edge.api('POST', '/changesets', body);
    const settle = (how: 'confirm' | 'revert') => world.edge.api('POST', `/changes/${pending.revision}/${how}`);
    return { settle, result: results[0].body };
  }

  test('a person accepts the invitation to an account that it creates, which goes with the change', async () => {
    const operation = { method: 'POST', path: '/user_accounts', body: { email: 'trial@example.com' } };
    const { settle, result } = await onTrial(operation);
    const browser = world.browser();
    const answer = await browser.accept(result.invitation_url, newDevice());
    assert.equal(answer.headers['location'], '/account?done=welcome', answer.text);
    assert.equal((await browser.open('/account')).status, 200);
    await settle('revert');
    assert.equal((await browser.open('/account')).headers['location'], '/sign-in');
  });

  test('a passkey of an account that it deletes cannot be added to another one, and the page says what to do', async () => {
    const gone = await world.person('gone@example.com');
    const { credentialId } = gone.device;
    const { browser } = await world.person('again@example.com');
    const { settle } = await onTrial({ method: 'DELETE', path: `/user_accounts/${gone.id}` });
    const answer = await browser.addPasskey(newDevice(), { credentialId });
    assert.deepEqual([answer.status, codeOf(answer)], [409, 'ERR_POSTERN_IDENTITY_CHANGE_PENDING'], answer.text);
    assert.match(answer.text, /nobody has confirmed yet.* Try again in a few minutes/);
    await settle('confirm');
    assert.equal((await browser.addPasskey(newDevice(), { credentialId })).headers['location'], '/account?done=added');
  });
});

test('without its store, pages that need it say so, and nothing ends the server', async (t) => {
  const own = await IdentityWorld.open(t);
  const { device, browser } = await own.person('away@example.com');
  const visitor = own.browser();
  await visitor.open('/sign-in');
  const response = JSON.stringify(device.get(await visitor.options('/sign-in/options')));
  await own.edge.world.store.close();
  assert.equal((await own.browser().open('/sign-in')).status, 200, 'no store is needed to ask for a passkey');
  for (const answer of [await visitor.submit('/sign-in/passkey', { response }), await browser.open('/account')]) {
    assert.deepEqual([answer.status, codeOf(answer)], [503, 'ERR_POSTERN_IDENTITY_UNAVAILABLE']);
    assert.match(String(answer.headers['retry-after']), /^\d+$/);
  }
});

test('an address without a page, and a page asked in another way, say what to do', async () => {
  const missing = await world.browser().open('/nothing');
  assert.deepEqual([missing.status, codeOf(missing)], [404, 'ERR_POSTERN_IDENTITY_NOT_FOUND']);
  assert.match(missing.text, /href="\/account"/);
  const wrong = await world.browser().open('/sign-in/passkey');
  assert.deepEqual([wrong.status, codeOf(wrong), wrong.headers['allow']], [405, 'ERR_POSTERN_IDENTITY_METHOD', 'POST']);
});
