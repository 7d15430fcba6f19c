import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { type Browser, chromium } from 'playwright-core';
import { connect } from '../../src/tunnel/agent/index.ts';
import { buildConsoleIfStale } from '../../tools/build-console.ts';
import { GuestWorld } from '../access/guests/guest-world.ts';
import { CHROMIUM_FLAGS, chromiumPath } from '../support/chromium.ts';
import { IDENTITY_HOST, IDENTITY_ORIGIN, IdentityBrowser } from '../support/identity-world.ts';
import { CLIENT_ID, CLIENT_SECRET, LoginWorld } from '../support/login-world.ts';
import { isLong } from '../support/share-of-cases.ts';
import { SoftAuthenticator } from '../support/soft-authenticator.ts';
import { TEST_API_KEY } from '../support/test-world.ts';
import { ConsoleVisitor } from './console-visitor.ts';

const executablePath = chromiumPath();
const skip = executablePath === null && 'chromium is not on the PATH: the console is NOT tested in a browser';
/** A folder for screenshots, at three widths and in both themes. */
const SCREENSHOTS = process.env['POSTERN_CONSOLE_SCREENSHOTS'];
const MAX_CLICKS = 6;
const AUTHTOKEN = 'publish-test-token-0123456789-0123456789';

buildConsoleIfStale();
const world = await LoginWorld.open(
  { after },
  {
    env: {
      POSTERN_ROLES: 'api,edge,gateway',
      POSTERN_TUNNEL_LISTEN: '127.0.0.1:0',
      POSTERN_AUTHTOKEN: AUTHTOKEN,
      POSTERN_IDENTITY_HOST: IDENTITY_HOST,
    },
  },
);
const { baseUrl } = world.edge.world;
const browser: Browser | null =
  executablePath === null ? null : await chromium.launch({ executablePath, args: CHROMIUM_FLAGS });
after(async () => browser?.close());
const admin = browser === null ? (null as never) : await ConsoleVisitor.open(browser, baseUrl);
const api: LoginWorld['edge']['api'] = (method, path, body) => world.edge.api(method, path, body);
const status = async (host: string): Promise<number> => (await world.edge.ask(host)).status;

/** No finding of axe in the dark, and nothing to scroll sideways for on a phone. */
async function examine(name: string): Promise<void> {
  const { page } = admin;
  if (SCREENSHOTS !== undefined) {
    mkdirSync(SCREENSHOTS, { recursive: true });
    await admin.photograph(join(SCREENSHOTS, `publish-${name}`));
  }
  await page.setViewportSize({ width: 360, height: 740 });
  assert.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true, `${name} is too wide`);
  for (const colorScheme of isLong ? (['dark', 'light'] as const) : (['dark'] as const)) {
    await page.emulateMedia({ colorScheme });
    assert.deepEqual(await admin.axeFindings(), [], `${name}, ${colorScheme}`);
  }
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize({ width: 1280, height: 860 });
}

interface Publishing {
  readonly host: string;
  /** After the host, which has the focus. */
  readonly fill: () => Promise<void>;
  /** All that the review shows. */
  readonly sentences: readonly string[];
}

/** From the overview to the published site, with as few clicks as a person needs. */
async function publish({ host, fill, sentences }: Publishing): Promise<void> {
  const { page } = admin;
  await admin.go('/');
  await page.evaluate('globalThis.clicks = 0');
  await page.getByRole('link', { name: 'Publish', exact: true }).click();
  await page.locator('#publish-host:focus').waitFor();
  await page.keyboard.type(host);
  await fill();
  await page.getByRole('button', { name: 'Review' }).click();
  const review = page.getByRole('region', { name: 'Review' });
  await review.waitFor();
  const shown = await review.locator('.sentences li').allTextContents();
  assert.deepEqual(
    shown.map((sentence) => sentence.replace(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/, 'TIME')),
    [`https://${host}/ will be served.`, ...sentences],
  );
  if (isLong || host.startsWith('everybody')) await examine(`review-${host}`);
  await review.getByRole('button', { name: 'Publish' }).click();
  await page.getByRole('heading', { name: `${host} is published` }).waitFor();
  const clicks = Number(await page.evaluate('globalThis.clicks'));
  assert.ok(clicks <= MAX_CLICKS, `${clicks} clicks`);
}

const choose = (name: string): Promise<void> => admin.page.getByLabel(name, { exact: true }).click();

suite('publishing a site', { skip }, () => {
  test('for everybody, at an address; undo takes all of it back', async () => {
    const { page } = admin;
    await admin.logIn(TEST_API_KEY);
    await page.evaluate("addEventListener('pointerdown', () => globalThis.clicks++, true)");
    assert.deepEqual(await page.locator('main .primary').allTextContents(), ['Publish']);
    const host = 'everybody.localhost';
    await publish({
      host,
      fill: async () => {
        await page.getByLabel('Address', { exact: true }).fill(world.upstreamAddress);
        await choose('Everybody');
        await page.getByRole('button', { name: 'Test' }).focus();
        await page.keyboard.press('Enter');
        await page.getByText(`${world.upstreamAddress} is reachable.`).waitFor();
        await examine('form');
      },
      sentences: [
        `Requests go to ${world.upstreamAddress}.`,
        'Everybody who can reach this server may enter, without a login.',
      ],
    });
    await examine('done');
    assert.equal(await status(host), 200);
    const [change] = (await api('GET', '/changes?limit=1')).changes;
    assert.equal(change.message, `publish ${host}`);
    assert.equal(change.count, 4, 'edge, route, its module and the backend in one change');

    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('heading', { name: 'Nothing is published yet' }).waitFor();
    assert.deepEqual((await api('GET', '/edges/https')).https_edges, []);
    assert.deepEqual((await api('GET', '/backends/static')).backends, []);
  });

  test('for people of this installation, at a tunnel of an agent', async () => {
    const { page } = admin;
    const agent = await connect({
      serverAddr: `127.0.0.1:${world.edge.world.server.addresses.tunnel?.port}`,
      ...{ authtoken: AUTHTOKEN, ca: world.edge.ca },
      tunnels: [{ labels: { app: 'shop' }, addr: world.upstreamAddress }],
    });
    const host = 'own.localhost';
    await publish({
      host,
      fill: async () => {
        await choose('An agent’s tunnel');
        // The labels of the only agent are there already.
        await page.getByLabel('Labels of the tunnel').and(page.locator('[value="app=shop"], :focus')).waitFor();
        await choose('People of this installation');
        await page.getByLabel('Only members of these groups (optional)').fill('ops');
      },
      sentences: [
        'Requests go to agents with app=shop.',
        'People log in with an account of this installation.',
        'Only members of ops may enter.',
      ],
    });
    assert.equal((await world.browser().upToProvider(host)).url?.host, IDENTITY_HOST);
    for (const [groups, expected] of [
      [['ops'], 200],
      [['others'], 403],
    ] as const)
      assert.equal(await visitAs(groups, host), expected);
    await agent.close();
  });

  test('for two people without an account, who are invited from there and get in', async () => {
    const { page } = admin;
    const host = 'two-people.localhost';
    await api('POST', '/user_accounts', { email: 'known@example.com' });
    await publish({
      host,
      fill: async () => {
        await page.getByLabel('Address', { exact: true }).fill(world.upstreamAddress);
        await choose('People of this installation');
        const people = 'ana@example.com, ben@example.com, known@example.com';
        await page.getByLabel('Only these people (optional)').fill(people);
      },
      sentences: [
        `Requests go to ${world.upstreamAddress}.`,
        'People log in with an account of this installation.',
        'Only ana@example.com, ben@example.com, known@example.com may enter.',
      ],
    });
    await page.getByText('No account yet: ana@example.com, ben@example.com.').waitFor();
    await page.getByRole('button', { name: 'Invite these 2 people' }).click();
    const ana = page.getByRole('region', { name: 'ana@example.com' });
    await page.getByRole('region', { name: 'ben@example.com' }).getByRole('button', { name: 'Copy' }).waitFor();
    await examine('invited');
    const link = (await ana.locator('code').textContent()) ?? '';
    assert.equal(await visitWith(link, host), 200);
  });

  test('for people of a provider, as a fixed page', async () => {
    const { page } = admin;
    const host = 'provider.localhost';
    world.register(host);
    await publish({
      host,
      fill: async () => {
        await choose('A fixed page');
        await page.getByLabel('Text or HTML of the page').fill('<h1>Soon</h1>');
        await choose('People of a login provider');
        await page.getByLabel('Issuer').fill(world.provider.issuer);
        await page.getByText(`https://${host}/.postern/callback`).waitFor();
        await page.getByLabel('Client ID').fill(CLIENT_ID);
        await page.getByLabel('Client secret').fill(CLIENT_SECRET);
        await page.getByLabel('Only members of these groups (optional)').fill('ops');
        assert.equal(await page.getByLabel('Scopes').inputValue(), 'openid email profile groups');
        await page.getByLabel('Scopes').fill('openid email profile');
        await page.getByLabel('Only members of these groups (optional)').fill('');
        await page.getByLabel('Only these people (optional)').fill('@example.com');
        await examine('provider');
      },
      sentences: [
        'Every request gets the page that you wrote, with status 200.',
        `People log in at ${world.provider.issuer}.`,
        'Only people of example.com may enter.',
        'The login asks the provider for openid, email, profile.',
      ],
    });
    assert.ok(!(await page.content()).includes(CLIENT_SECRET));
    const answer = await world.browser().logIn(host);
    assert.deepEqual([answer.status, answer.text], [200, '<h1>Soon</h1>']);
    assert.match(String(answer.headers['content-type']), /^text\/html/);
  });

  test('for a folder, and says which setting must list it', async () => {
    const { page } = admin;
    await admin.go('/sites');
    await admin.go('/publish');
    await page.getByLabel('Host', { exact: true }).fill('folder.localhost');
    await choose('A folder');
    await page.getByLabel('Folder', { exact: true }).fill('www');
    await choose('Everybody');
    await page.locator('.problem', { hasText: 'Enter an absolute path, such as /srv/www.' }).waitFor();
    await page.getByLabel('Folder', { exact: true }).fill('/srv/other/');
    await page.getByRole('button', { name: 'Review' }).click();
    await page.getByRole('alert').getByText('file_roots').waitFor();
  });

  test('for certain addresses only', async () => {
    const { page } = admin;
    for (const [host, ranges, expected] of [
      ['office.localhost', '203.0.113.0/24, 2001:db8::1', 403],
      ['here.localhost', '127.0.0.1', 200],
    ] as const) {
      await publish({
        host,
        fill: async () => {
          await page.getByLabel('Address', { exact: true }).fill(`http://${world.upstreamAddress}`);
          await choose('Certain addresses');
          await page.getByLabel('Addresses and ranges').fill(ranges);
        },
        sentences: [
          `Requests go to ${world.upstreamAddress}.`,
          `Everybody may enter from ${ranges}, and from nowhere else.`,
        ],
      });
      assert.equal(await status(host), expected, host);
    }
  });

  test('for a guest with a link, which is shown once', async () => {
    const { page } = admin;
    const host = 'guest.localhost';
    await publish({
      host,
      fill: async () => {
        await page.getByLabel('Address', { exact: true }).fill(world.upstreamAddress);
        await choose('A guest with a link');
        await page.keyboard.type('Ana');
        await page.getByLabel('Usual times').selectOption('tomorrow');
        await page.getByText(/^tomorrow: /).waitFor();
      },
      sentences: [
        `Requests go to ${world.upstreamAddress}.`,
        'Only browsers with a guest link may enter.',
        'A link for Ana is made, for one browser, until TIME.',
      ],
    });
    const url = new URL((await page.locator('.secret-once code').textContent()) ?? '');
    assert.equal(await status(host), 403);
    const guest = world.browser();
    await GuestWorld.over(world).redeem(guest, { host, secret: url.searchParams.get('link') ?? '' });
    assert.equal((await guest.open(host)).status, 200);
  });

  test('says what is wrong while it is typed, and what the server rejects', async () => {
    const { page } = admin;
    await admin.go('/sites');
    await admin.go('/publish');
    const host = page.getByLabel('Host', { exact: true });
    const problem = (text: string) => page.locator('.problem', { hasText: text }).waitFor();
    await host.fill('not a host');
    await problem('is not a host name');
    await host.fill('app.example.com:8443');
    await problem('without a port or a path');
    await host.fill('here.localhost');
    await problem('here.localhost is served already.');
    await page.getByRole('link', { name: 'Open here.localhost' }).waitFor();
    await page.getByLabel('Address', { exact: true }).fill('nonsense');
    await problem('Enter host:port');
    await page.getByRole('button', { name: 'Review' }).click();
    assert.equal(await page.locator(':focus').getAttribute('id'), 'publish-host');
    await problem('Choose who may enter.');
    await page.getByLabel('Address', { exact: true }).fill('127.0.0.1:1');
    await choose('Everybody');
    await page.getByRole('button', { name: 'Review' }).click();
    await page.getByRole('alert').getByText('ERR_POSTERN_ALREADY_EXISTS').waitFor();
    await host.fill('unreachable.localhost');
    await page.getByRole('button', { name: 'Review' }).click();
    await page.getByText('127.0.0.1:1 is not reachable now: nothing listens there').waitFor();
  });

  test('warns before it takes a host away from a wildcard with a login', async () => {
    const { page } = admin;
    const site = await world.edge.site(await world.edge.httpResponse('in'), '*.team.localhost');
    await world.protect(site);
    await admin.go('/sites');
    await admin.go('/publish');
    await page.getByLabel('Host', { exact: true }).fill('wiki.team.localhost');
    await page.getByLabel('Address', { exact: true }).fill(world.upstreamAddress);
    await choose('Everybody');
    await page.getByRole('button', { name: 'Review' }).click();
    await page.getByText('*.team.localhost serves wiki.team.localhost now, with a login or other rules').waitFor();
  });

  test('works with the keyboard alone', async () => {
    const { page } = admin;
    await admin.go('/');
    await page.getByRole('link', { name: 'Publish', exact: true }).focus();
    await page.keyboard.press('Enter');
    await page.locator('#publish-host:focus').waitFor();
    await page.keyboard.type('keys.localhost');
    // The choice of the target, its address, the test, and the choice of who may enter.
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.type(world.upstreamAddress);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Space');
    await page.locator('#entry-everybody:focus:checked').waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.locator('h2:focus', { hasText: 'This is what happens' }).waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.locator('h2:focus', { hasText: 'keys.localhost is published' }).waitFor();
    assert.equal(await status('keys.localhost'), 200);
  });

  test('is offered only to those who may do it', async () => {
    for (const [scopes, canPublish] of [
      [['*:read'], false],
      [['*:read', 'edges:write', 'backends:write'], true],
    ] as const) {
      const { token } = await api('POST', '/api_keys', { scopes });
      const visitor = await ConsoleVisitor.open(browser as Browser, baseUrl);
      await visitor.logIn(token);
      assert.equal(await visitor.page.getByRole('link', { name: 'Publish', exact: true }).count(), canPublish ? 1 : 0);
      await visitor.go('/publish');
      if (canPublish) {
        await visitor.page.getByLabel('Everybody').waitFor();
        assert.equal(await visitor.page.getByLabel('A guest with a link').isDisabled(), true);
        assert.equal(await visitor.page.getByLabel('Certain addresses').isDisabled(), true);
      } else await visitor.page.getByText('To publish a site, log in with a key').waitFor();
      await visitor.close();
    }
    await admin.close();
  });
});

/** Status of the site for a person with these groups, who logs in at the identity host. */
async function visitAs(groups: readonly string[], host: string): Promise<number> {
  const email = `${groups.join('-')}@example.test`;
  const { invitation_url: invitation } = await api('POST', '/user_accounts', { email, groups });
  return visitWith(invitation, host);
}

async function visitWith(invitation: string, host: string): Promise<number> {
  const person = new IdentityBrowser({ edge: world.edge, origin: IDENTITY_ORIGIN });
  await person.accept(invitation, new SoftAuthenticator(IDENTITY_ORIGIN));
  let url = new URL(`https://${host}/`);
  for (let step = 0; step < 10; step += 1) {
    const cookie = person.jar.header(url.href);
    const answer = await world.edge.ask(url.hostname, `${url.pathname}${url.search}`, {
      headers: { accept: 'text/html', 'sec-fetch-mode': 'navigate', ...(cookie !== undefined && { cookie }) },
    });
    person.jar.store(url.href, answer.headers['set-cookie']);
    const login = /<a class="button" id="go" href="([^"]+)"/.exec(answer.text)?.[1]?.replaceAll('&amp;', '&');
    const next = login ?? answer.headers['location'];
    if (next === undefined) return answer.status;
    url = new URL(String(next), url);
  }
  return assert.fail('too many redirects');
}
