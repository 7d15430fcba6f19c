import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import type { EdgeAnswer } from '../support/edge-clients.ts';
import { IDENTITY_ORIGIN, type IdentityBrowser, IdentityWorld } from '../support/identity-world.ts';
import { MailServer } from '../support/mail-server.ts';
import { SoftAuthenticator } from '../support/soft-authenticator.ts';

const mail = await MailServer.open({ after });
const env = {
  POSTERN_SMTP_URL: mail.url,
  POSTERN_MAIL_FROM: 'postern@example.test',
  POSTERN_IDENTITY_EMAIL_CODES: 'true',
};
const world = await IdentityWorld.open({ after }, { env });
const newDevice = (): SoftAuthenticator => new SoftAuthenticator(IDENTITY_ORIGIN);

async function ask(browser: IdentityBrowser, email: string): Promise<EdgeAnswer> {
  const page = await browser.open('/sign-in');
  assert.match(page.text, /Send a code by e-mail/);
  return browser.submit('/code', { email });
}

const codeTo = async (address: string): Promise<string> => (await mail.codeTo(address)).code;

suite('logging in with a code by e-mail', () => {
  test('a person without a passkey logs in, and adds one', async () => {
    const { id } = await world.invite('ana@example.com');
    const browser = world.browser();
    const asked = await ask(browser, 'ANA@example.com');
    assert.deepEqual([asked.status, asked.headers['location']], [303, '/code']);
    assert.match((await browser.open('/code')).text, /Enter the code/);
    const code = await codeTo('ana@example.com');
    const wrong = await browser.submit('/code/check', { code: 'AAAA-AAAA' });
    assert.equal(wrong.status, 403);
    assert.equal((await browser.submit('/code/check', { code })).headers['location'], '/account');
    assert.match((await browser.open('/account')).text, /You have no passkey/);
    assert.equal((await browser.addPasskey(newDevice())).headers['location'], '/account?done=added');
    assert.equal((await world.edge.api('GET', `/user_accounts/${id}`)).passkey_count, 1);
    // The notice about it.
    assert.match((await mail.mailTo('ana@example.com', 2)).text, /passkey/i);
  });

  test('a code does not change passkeys while one exists', async () => {
    const { browser: laptop } = await world.person('ben@example.com');
    await laptop.addPasskey(newDevice());
    const browser = world.browser();
    await ask(browser, 'ben@example.com');
    await browser.submit('/code/check', { code: await codeTo('ben@example.com') });
    const page = await browser.open('/account');
    assert.match(page.text, /Confirm with a passkey/);
    assert.doesNotMatch(page.text, /Add a passkey|Remove/);
    for (const path of ['/account/passkeys/options', '/account/passkeys', '/account/passkeys/remove']) {
      assert.equal((await browser.submit(path)).status, 403, path);
    }
  });

  test('the answers to every address are the same, and only people without a role get a mail', async () => {
    await world.invite('carla@example.com');
    await world.invite('root@example.com', { groups: ['postern-admins'] });
    const before = mail.mails.length;
    const answers: unknown[] = [];
    for (const email of ['carla@example.com', 'root@example.com', 'nobody@example.com']) {
      const browser = world.browser();
      const asked = await ask(browser, email);
      const cookie = String(asked.headers['set-cookie']).replace(/=[^;]*/, (value) => `=${value.length}`);
      const page = await browser.open('/code');
      const wrong = await browser.submit('/code/check', { code: 'AAAA-AAAA' });
      const { 'postern-request-id': _, ...headers } = wrong.headers;
      answers.push([asked.status, asked.headers['location'], cookie, page.text, wrong.status, Object.keys(headers)]);
    }
    assert.deepEqual(answers[1], answers[0]);
    assert.deepEqual(answers[2], answers[0]);
    await codeTo('carla@example.com');
    const codes = mail.mails.slice(before).filter(({ text }) => text.includes('Your code'));
    assert.deepEqual(
      codes.map(({ to }) => to),
      ['carla@example.com'],
    );
  });

  test('a code is only good in the browser that asked for it', async () => {
    await world.invite('dora@example.com');
    const browser = world.browser();
    await ask(browser, 'dora@example.com');
    const code = await codeTo('dora@example.com');
    const thief = world.browser();
    await ask(thief, 'dora@example.com');
    assert.equal((await thief.submit('/code/check', { code })).status, 403);
    assert.equal((await browser.submit('/code/check', { code })).status, 303);
  });

  test('a code that was sent to an earlier address of the person does not work', async () => {
    const { id } = await world.invite('emil@example.com');
    const browser = world.browser();
    await ask(browser, 'emil@example.com');
    const code = await codeTo('emil@example.com');
    await world.edge.api('PATCH', `/user_accounts/${id}`, { email: 'emil@example.org' });
    assert.equal((await browser.submit('/code/check', { code })).status, 403);
  });

  test('a person is not locked out by somebody in the same network who asks for codes', async () => {
    await world.invite('gina@example.com');
    const [own, stranger] = [world.browser(), world.browser()];
    const signsIn = async (skipped: number): Promise<void> => {
      await ask(own, 'gina@example.com');
      const { text } = await mail.mailTo('gina@example.com', skipped);
      const code = /^ +([A-Z0-9]{4}-[A-Z0-9]{4})$/m.exec(text)?.[1] ?? '';
      assert.equal((await own.submit('/code/check', { code })).headers['location'], '/account');
      await own.submit('/account/sign-out');
    };
    // After the invitation.
    await signsIn(1);
    for (let times = 0; times < 8; times += 1) await ask(stranger, 'gina@example.com');
    // Four are left of the five that this network gets.
    await mail.mailTo('gina@example.com', 5);
    await signsIn(6);
  });

  test('a person who gets a role in the console adds no passkey with an earlier code', async () => {
    const { id } = await world.invite('fred@example.com');
    const browser = world.browser();
    await ask(browser, 'fred@example.com');
    await browser.submit('/code/check', { code: await codeTo('fred@example.com') });
    const options = await browser.options('/account/passkeys/options', {});
    const response = JSON.stringify(newDevice().create(options as never));
    await world.edge.api('PATCH', `/user_accounts/${id}`, { groups: ['postern-admins'] });
    assert.doesNotMatch((await browser.open('/account')).text, /Add a passkey/);
    for (const path of ['/account/passkeys/options', '/account/passkeys']) {
      const { status, headers } = await browser.submit(path, { response });
      assert.deepEqual([status, headers['postern-error-code']], [401, 'ERR_POSTERN_IDENTITY_SESSION'], path);
    }
    assert.equal((await world.edge.api('GET', `/user_accounts/${id}`)).passkey_count, 0);
  });

  test('without an address nothing is sent, and there are no codes where they are off', async () => {
    const browser = world.browser();
    const answer = await ask(browser, 'nothing');
    assert.equal(answer.status, 403);
    assert.match(answer.text, /Enter your address/);
    const off = await IdentityWorld.open({ after });
    assert.doesNotMatch((await off.browser().open('/sign-in')).text, /Send a code/);
  });
});
