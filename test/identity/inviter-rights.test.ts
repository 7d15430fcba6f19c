import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
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
const BOSS = { groups: ['postern-admins'] };
const IN = '/account';
const WELCOME = '/account?done=welcome';

const { token: helpdesk } = await world.edge.api('POST', '/api_keys', {
  scopes: ['user_accounts:read', 'user_accounts:write'],
});
let count = 0;
const newAddress = (): string => {
  count += 1;
  return `p${count}@example.com`;
};
const asHelpdesk = async (method: string, path: string, body?: object) => {
  const answer = await world.edge.world.api(method, path, body, { key: helpdesk });
  assert.ok(answer.status < 300, answer.text);
  return answer.body;
};
/** An account whose invitation the narrow key has accepted by itself. */
async function taken() {
  const { id, invitation_url: url } = await asHelpdesk('POST', '/user_accounts', { email: newAddress() });
  const [browser, device] = [world.browser(), newDevice()];
  assert.equal((await browser.accept(url, device)).headers['location'], WELCOME);
  return { id, path: `/user_accounts/${id}`, browser, device };
}
const promote = (path: string) => world.edge.api('PATCH', path, BOSS);

suite('a key that may manage people becomes no administrator', () => {
  test('by an invitation that it kept until the person is one', async () => {
    const { id, invitation_url: url } = await asHelpdesk('POST', '/user_accounts', { email: newAddress() });
    await promote(`/user_accounts/${id}`);
    const answer = await world.browser().accept(url, newDevice());
    assert.equal(answer.status, 410, answer.text);
    assert.match(answer.text, /ended by a change of your account/);
  });

  test('by a link between a demotion and its undo', async () => {
    const { id, path, device } = await bossWithDevice();
    const demoted = await world.edge.world.api('PATCH', path, { groups: [] });
    const { invitation_url: url } = await asHelpdesk('POST', `${path}/invite`, {});
    const used = newDevice();
    const { invitation_url: second } = await asHelpdesk('POST', `${path}/invite`, {});
    assert.equal((await world.browser().accept(url, newDevice())).status, 410);
    assert.equal((await world.browser().accept(second, used)).headers['location'], WELCOME);
    const { invitation_url: third } = await asHelpdesk('POST', `${path}/invite`, {});
    await world.edge.api('POST', `/changes/${demoted.headers.get('postern-revision')}/undo`, {});
    assert.equal((await world.browser().accept(third, newDevice())).status, 410);
    assert.match((await world.browser().logIn(used)).text, /This passkey is not enough/);
    assert.equal((await world.browser().logIn(device)).headers['location'], IN);
    assert.equal((await world.edge.api('GET', `/user_accounts/${id}`)).passkey_count, 2);
  });

  async function bossWithDevice() {
    const { id, url } = await world.invite(newAddress(), BOSS);
    const [browser, device] = [world.browser(), newDevice()];
    assert.equal((await browser.accept(url, device)).headers['location'], WELCOME);
    return { id, path: `/user_accounts/${id}`, browser, device };
  }

  test('by a passkey or session that it registered itself before the person is one', async () => {
    const { path, browser, device } = await taken();
    assert.equal((await world.browser().logIn(device)).headers['location'], IN);
    await promote(path);
    assert.equal((await browser.open('/account')).headers['location'], '/sign-in');
    const refused = await world.browser().logIn(device);
    assert.match(refused.text, /This passkey is not enough/);
    // An administrator's link, on the same device too.
    const { invitation_url: url } = await world.edge.api('POST', `${path}/invite`, {});
    const own = newDevice();
    assert.equal((await world.browser().accept(url, own)).headers['location'], WELCOME);
    assert.equal((await world.browser().logIn(own)).headers['location'], IN);
    assert.match((await world.browser().logIn(device)).text, /This passkey is not enough/);
    // The right is enough again for what it was registered for.
    await world.edge.api('PATCH', path, { groups: [] });
    assert.equal((await world.browser().logIn(device)).headers['location'], IN);
  });

  test('by a second passkey that it adds beside one of an administrator, also if it removes its own first', async () => {
    const { id, path, browser } = await taken();
    const { invitation_url: url } = await world.edge.api('POST', `${path}/invite`, {});
    const [person, device] = [world.browser(), newDevice()];
    assert.equal((await person.accept(url, device)).headers['location'], WELCOME);
    const second = newDevice();
    assert.equal((await browser.addPasskey(second)).headers['location'], '/account?done=added');
    const { passkeys } = await world.edge.api('GET', `${path}/passkeys`);
    const first = passkeys.at(-1).id;
    assert.equal((await browser.submit('/account/passkeys/remove', { id: first })).status, 303);
    const third = newDevice();
    assert.equal((await browser.addPasskey(third)).headers['location'], '/account?done=added');
    const ofPerson = newDevice();
    assert.equal((await person.addPasskey(ofPerson)).headers['location'], '/account?done=added');
    await promote(path);
    for (const each of [second, third])
      assert.match((await world.browser().logIn(each)).text, /This passkey is not enough/);
    for (const each of [device, ofPerson]) assert.equal((await world.browser().logIn(each)).headers['location'], IN);
    assert.ok(id !== '');
  });

  test('by a passkey added after a code, or confirmed with one', async () => {
    const { id, email } = await asHelpdesk('POST', '/user_accounts', { email: newAddress() });
    const browser = world.browser();
    await browser.open('/sign-in');
    await browser.submit('/code', { email });
    const { code } = await mail.codeTo(email);
    assert.equal((await browser.submit('/code/check', { code })).headers['location'], IN);
    const [device, second] = [newDevice(), newDevice()];
    assert.equal((await browser.addPasskey(device)).headers['location'], '/account?done=added');
    await browser.open('/account');
    assert.equal((await browser.confirm(device)).headers['location'], '/account?done=confirmed');
    assert.equal((await browser.addPasskey(second)).headers['location'], '/account?done=added');
    await promote(`/user_accounts/${id}`);
    for (const each of [device, second])
      assert.match((await world.browser().logIn(each)).text, /This passkey is not enough/);
  });

  test('by a code for an administrator whose demotion waits for its confirmation', async () => {
    const { path, device } = await bossWithDevice();
    const { email } = await world.edge.api('GET', path);
    const operations = [{ method: 'PATCH', path, body: { groups: [] } }];
    const { revision } = await world.edge.api('POST', '/changesets', { operations, confirm_within: '1h' });
    const before = mail.mails.length;
    const browser = world.browser();
    await browser.open('/sign-in');
    await browser.submit('/code', { email });
    // Another person gets one meanwhile.
    const { email: other } = await asHelpdesk('POST', '/user_accounts', { email: newAddress() });
    await browser.submit('/code', { email: other });
    await mail.codeTo(other);
    const codes = mail.mails.slice(before).filter(({ text }) => /^ +[A-Z0-9]{4}-[A-Z0-9]{4}$/m.test(text));
    assert.deepEqual(
      codes.map(({ to }) => to),
      [other],
    );
    assert.equal((await world.browser().logIn(device)).headers['location'], IN);
    await world.edge.api('POST', `/changes/${revision}/revert`, {});
    assert.equal((await world.browser().logIn(device)).headers['location'], IN);
  });
});

/** An account, with the links and devices of the help desk. */
interface Taken {
  readonly path: string;
  readonly links: string[];
  readonly taken: { readonly device: SoftAuthenticator; readonly browser: IdentityBrowser }[];
}

/** The same numbers for the same seed. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

suite('a help desk that tries everything, while an administrator changes, undoes and reverts', () => {
  const ROUNDS = process.env['POSTERN_TEST_LONG'] === undefined ? 4 : 30;
  for (const seed of [1, 2, 3]) {
    test(`gets into no account with a role: seed ${seed}`, async () => {
      const random = numbers(seed);
      const pick = <Item>(items: readonly Item[]): Item => items[random(items.length)] as Item;
      const { world: server } = world.edge;
      const all = (method: string, path: string, body?: object) => server.api(method, path, body);
      const { token: key } = await world.edge.api('POST', '/api_keys', {
        scopes: ['user_accounts:read', 'user_accounts:write', 'changes:read', 'changes:write'],
      });
      const narrow = (method: string, path: string, body?: object) => server.api(method, path, body, { key });
      const revisions: number[] = [];
      const noted = (answer: { headers: Headers; status: number }): void => {
        const revision = Number(answer.headers.get('postern-revision'));
        if (answer.status < 300 && revision > 0) revisions.push(revision);
      };
      const bodies = [BOSS, { groups: [] }, { groups: ['ops'] }, { active: false }, { active: true }];
      const waiting = async (): Promise<number> => (await all('GET', '/changes?limit=1')).body.pending?.revision ?? 0;
      const steps: readonly ((account: Taken) => Promise<unknown>)[] = [
        async ({ path }) => noted(await all('PATCH', path, pick(bodies))),
        async ({ path }) =>
          noted(
            await all('POST', '/changesets', {
              operations: [{ method: 'PATCH', path, body: pick(bodies) }],
              confirm_within: '1h',
            }),
          ),
        async () => all('POST', `/changes/${await waiting()}/${pick(['confirm', 'revert'])}`, {}),
        async () =>
          revisions.length > 0 && all('POST', `/changes/${pick(revisions)}/undo`, { force: pick([true, false]) }),
        async ({ path }) => narrow('PATCH', path, pick([...bodies, { name: 'x' }])),
        async ({ path }) => narrow('PATCH', path, { email: newAddress() }),
        async () => narrow('POST', `/changes/${await waiting()}/${pick(['confirm', 'revert'])}`, {}),
        async () =>
          revisions.length > 0 && narrow('POST', `/changes/${pick(revisions)}/undo`, { force: pick([true, false]) }),
        async ({ path, links }) => {
          const { body } = await narrow('POST', `${path}/invite`, { remove_passkeys: pick([true, false, false]) });
          if (body?.invitation_url !== undefined) links.push(body.invitation_url);
        },
        async ({ links, taken: mine }) => {
          if (links.length === 0) return;
          const [device, browser] = [newDevice(), world.browser()];
          const { headers } = await browser.accept(pick(links), device);
          if (headers['location'] === WELCOME) mine.push({ device, browser });
        },
        async ({ taken: mine }) => {
          if (mine.length === 0) return;
          const { browser } = pick(mine);
          if ((await browser.open('/account')).status !== 200) return;
          const device = newDevice();
          const added = await browser.addPasskey(device).catch(() => null);
          if (added?.headers['location'] === '/account?done=added') mine.push({ device, browser: browser.copy() });
        },
      ];
      const [byAdministrator, byHelpdesk, entering] = [steps.slice(0, 4), steps.slice(4, 9), steps.slice(9)];
      const stepsOf = async (account: Taken, count: number): Promise<void> => {
        for (let step = 0; step < count; step += 1)
          await pick([byHelpdesk, entering, byAdministrator][step % 3] as typeof steps)(account);
      };
      /** Returns how many ways it has tried. */
      const inspect = async ({ path, taken: mine }: Taken): Promise<number> => {
        const { status, body } = await all('GET', path);
        if (status !== 200 || !body.groups.includes('postern-admins')) return 0;
        for (const { device, browser } of mine) {
          // Refused because of who they are, and not because of too many attempts.
          world.clock.advance(30);
          assert.notEqual((await browser.open('/account')).status, 200, 'a session');
          const own = await world.browser().logIn(device);
          assert.notEqual(own.headers['location'], IN, 'a passkey');
          assert.doesNotMatch(own.text, /Too many/);
        }
        return mine.length;
      };
      for (let round = 0; round < ROUNDS; round += 1) {
        const { id, invitation_url: url } = await asHelpdesk('POST', '/user_accounts', { email: newAddress() });
        const account: Taken = { path: `/user_accounts/${id}`, links: [], taken: [] };
        const [device, browser] = [newDevice(), world.browser()];
        assert.equal((await browser.accept(url, device)).headers['location'], WELCOME);
        account.taken.push({ device, browser });
        await stepsOf(account, 9);
        await inspect(account);
        // Somebody else gets in by an administrator's link: that must not help.
        const { body } = await all('POST', `${account.path}/invite`, {});
        if (body?.invitation_url !== undefined) await world.browser().accept(body.invitation_url, newDevice());
        await stepsOf(account, 3);
        await all('POST', `/changes/${await waiting()}/revert`, {});
        const promoted = await all('PATCH', account.path, { ...BOSS, active: true });
        if (promoted.status === 404) continue;
        noted(promoted);
        assert.ok((await inspect(account)) > 0);
        await stepsOf(account, 6);
        await inspect(account);
        await all('POST', `/changes/${await waiting()}/revert`, {});
      }
    });
  }
});
