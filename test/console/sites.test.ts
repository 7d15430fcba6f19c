import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { type Browser, chromium, type Locator } from 'playwright-core';
import { connect } from '../../src/tunnel/agent/index.ts';
import { buildConsoleIfStale } from '../../tools/build-console.ts';
import { CHROMIUM_FLAGS, chromiumPath } from '../support/chromium.ts';
import { LoginWorld } from '../support/login-world.ts';
import { TEST_API_KEY } from '../support/test-world.ts';
import { ConsoleVisitor } from './console-visitor.ts';

const executablePath = chromiumPath();
const skip = executablePath === null && 'chromium is not on the PATH: the console is NOT tested in a browser';
/** A folder for screenshots, at three widths and in both themes. */
const SCREENSHOTS = process.env['POSTERN_CONSOLE_SCREENSHOTS'];

buildConsoleIfStale();
const AUTHTOKEN = 'sites-test-token-0123456789-0123456789';
const env = {
  POSTERN_ROLES: 'api,edge,gateway',
  POSTERN_TUNNEL_LISTEN: '127.0.0.1:0',
  POSTERN_AUTHTOKEN: AUTHTOKEN,
};
const world = await LoginWorld.open({ after }, { env });
const { baseUrl } = world.edge.world;
const browser: Browser | null =
  executablePath === null ? null : await chromium.launch({ executablePath, args: CHROMIUM_FLAGS });
after(async () => browser?.close());
const admin = browser === null ? (null as never) : await ConsoleVisitor.open(browser, baseUrl);
const api: LoginWorld['edge']['api'] = (method, path, body) => world.edge.api(method, path, body);
const photograph = async (name: string): Promise<void> => {
  if (SCREENSHOTS === undefined) return;
  mkdirSync(SCREENSHOTS, { recursive: true });
  await admin.photograph(join(SCREENSHOTS, name));
};
const row = (host: string): Locator => admin.page.locator('tr.row', { hasText: host });

test('sites are listed with where they go, who may enter, their health and their traffic', { skip }, async () => {
  await admin.logIn(TEST_API_KEY);
  await admin.navigate('Sites');
  await admin.page.getByRole('heading', { name: 'Nothing is published yet' }).waitFor();

  const open = await world.edge.site(await world.edge.staticBackend(world.upstreamAddress), 'open.localhost');
  for (let count = 0; count < 3; count += 1) assert.equal((await world.edge.ask(open.host)).status, 200);
  const dead = await world.edge.site(await world.edge.staticBackend('127.0.0.1:1'), 'dead.localhost');
  for (let count = 0; count < 2; count += 1) assert.equal((await world.edge.ask(dead.host)).status, 502);
  const { id: group } = await api('POST', '/backends/tunnel_group', { labels: { app: 'shop' } });
  const agents = await world.edge.site(group, 'agents.localhost');
  const { policyId } = await world.edge.ipPolicy('allow', '203.0.113.0/24');
  await api('PUT', `${agents.routePath}/ip_restriction`, { ip_policy_ids: [policyId] });
  const page = await world.edge.site(await world.edge.httpResponse('soon', { status_code: 503 }), 'page.localhost');
  await world.protect(page);
  await api('PUT', `${page.routePath}/access`, { allow: [{ claims: { groups: ['ops'] } }, { guests: true }] });
  const empty = await world.edge.site(undefined, 'empty.localhost');
  await api('PUT', `${empty.routePath}/basic_auth`, { users: [{ username: 'ana', password: 'long enough' }] });

  await admin.page.getByRole('button', { name: 'Reload' }).click();
  await row('open.localhost').getByText(world.upstreamAddress).waitFor();
  await row('open.localhost').getByText('everybody').waitFor();
  await row('open.localhost').getByText('working').waitFor();
  await row('open.localhost').getByRole('cell', { name: '3', exact: true }).waitFor();
  await row('dead.localhost').getByTitle('2 of 2 requests of the last hour failed.').getByText('failing').waitFor();
  await row('agents.localhost').getByText('agents with app=shop').waitFor();
  await row('agents.localhost').getByText('everybody from listed addresses').waitFor();
  await row('agents.localhost').getByText('no agent').waitFor();
  await row('page.localhost').getByText('a fixed page (503)').waitFor();
  await row('page.localhost').getByText('group ops, or guests with a link').waitFor();
  await row('empty.localhost').getByText('no target').waitFor();
  await row('empty.localhost').getByText('everybody with a password').waitFor();
  await photograph('sites');
  assert.deepEqual(await admin.axeFindings(), []);

  // A name of usual length needs one line where there is room.
  const isOneLine = async (link: Locator): Promise<boolean> => ((await link.boundingBox())?.height ?? 99) < 30;
  await world.edge.site(undefined, 'documentation-of-the-team.internal.localhost');
  await admin.page.getByRole('button', { name: 'Reload' }).click();
  assert.ok(await isOneLine(row('documentation').getByRole('link')));
  await admin.navigate('Changes');
  await row('documentation').first().waitFor();
  const changed = await row('documentation').first().getByRole('cell').first().boundingBox();
  const whole = await admin.page.getByRole('region', { name: 'Changes' }).boundingBox();
  assert.ok((changed?.width ?? 0) > (whole?.width ?? 0) / 2, 'half of the table is for what changed');
  assert.equal(await admin.page.getByRole('columnheader', { name: 'Message' }).count(), 0, 'nobody wrote one');
  await admin.navigate('Sites');
  await row('documentation').waitFor();

  await admin.page.getByLabel('Search sites').fill('dead');
  await row('open.localhost').waitFor({ state: 'detached' });
  await row('dead.localhost').getByRole('link').click();
  await admin.page.getByRole('heading', { name: 'dead.localhost', level: 1 }).waitFor();
});

test('on its page, a site gets another target, other people and another host, each in three clicks', {
  skip,
}, async () => {
  const { page } = admin;
  const site = page.getByRole('region', { name: 'Site' });
  const save = async (sentence: string): Promise<void> => {
    await page.getByRole('form').getByText(sentence).waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('region', { name: 'Saved' }).getByText(sentence).waitFor();
  };
  assert.equal((await world.edge.ask('dead.localhost')).status, 502);
  await site.getByRole('button', { name: 'Change where it goes' }).click();
  const address = page.getByLabel('Address', { exact: true });
  assert.equal(await address.inputValue(), '127.0.0.1:1');
  await address.fill('nothing here');
  await page.getByText('Enter host:port').waitFor();
  await address.fill(world.upstreamAddress);
  await save(`Requests go to ${world.upstreamAddress}.`);
  assert.equal((await world.edge.ask('dead.localhost')).status, 200);
  await site.getByText(world.upstreamAddress).waitFor();

  await site.getByRole('button', { name: 'Change who may enter' }).click();
  assert.equal(await page.getByLabel('Everybody', { exact: true }).isChecked(), true);
  await page.getByLabel('Certain addresses', { exact: true }).click();
  await page.getByLabel('Addresses and ranges').fill('203.0.113.7');
  await photograph('site-entry');
  assert.deepEqual(await admin.axeFindings(), []);
  await save('Everybody may enter from 203.0.113.7, and from nowhere else.');
  assert.equal((await world.edge.ask('dead.localhost')).status, 403);
  // What is there is in the form again, and replaced as a whole.
  await site.getByRole('button', { name: 'Change who may enter' }).click();
  assert.equal(await page.getByLabel('Addresses and ranges').inputValue(), '203.0.113.7/32');
  await page.getByLabel('A guest with a link', { exact: true }).click();
  await save('Only browsers with a guest link may enter.');
  await page.getByText('Send this link to your guest.').waitFor();
  assert.equal((await world.edge.ask('dead.localhost')).status, 403);
  await site.getByRole('button', { name: 'Change who may enter' }).click();
  assert.equal(await page.getByLabel('A guest with a link', { exact: true }).isChecked(), true);
  await page.getByLabel('Everybody', { exact: true }).click();
  await save('Everybody who can reach this server may enter, without a login.');
  assert.equal((await world.edge.ask('dead.localhost')).status, 200);

  await site.getByRole('button', { name: 'Change the address' }).click();
  await page.getByLabel('Hosts', { exact: true }).fill('alive.localhost:443');
  await save('The site is served at alive.localhost:443, and nowhere else.');
  assert.equal((await world.edge.ask('alive.localhost')).status, 200);
  await photograph('site');
  await page.setViewportSize({ width: 360, height: 740 });
  assert.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true);
  assert.deepEqual(await admin.axeFindings(), []);
  await page.setViewportSize({ width: 1280, height: 860 });
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByRole('heading', { name: 'dead.localhost', level: 1 }).waitFor();
});

test('the page of a site replaces nothing that its form cannot show, and nothing that somebody else changed', {
  skip,
}, async () => {
  const { page } = admin;
  const { https_edges: edges } = await api('GET', '/edges/https');
  const of = (host: string) => edges.find(({ hostports }: { hostports: string[] }) => hostports[0]?.startsWith(host));
  await admin.go(`/sites/${of('page.localhost').id}`);
  await page.getByRole('button', { name: 'Change who may enter' }).click();
  await page.getByText('This site has modules or rules that this form does not know.').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Save' }).count(), 0);

  const { id, routes } = of('open.localhost');
  await admin.go(`/sites/${id}`);
  await page.getByRole('button', { name: 'Change who may enter' }).click();
  await page.getByLabel('A guest with a link', { exact: true }).click();
  await api('PATCH', `/edges/https/${id}/routes/${routes[0].id}`, { description: 'somebody was faster' });
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('alert').getByText('Somebody else changed this meanwhile.').waitFor();
  assert.equal((await world.edge.ask('open.localhost')).status, 200);
});

test('sites that agents publish are listed beside the others, also on a phone', { skip }, async () => {
  const { page } = admin;
  const agent = await connect({
    serverAddr: `127.0.0.1:${world.edge.world.server.addresses.tunnel?.port}`,
    ...{ authtoken: AUTHTOKEN, ca: world.edge.ca, metadata: 'machine 7' },
    tunnels: [
      { proto: 'https', domain: 'container.localhost', addr: world.upstreamAddress },
      {
        ...{ proto: 'https', domain: 'closed.localhost', addr: world.upstreamAddress },
        modules: {
          oidc: { issuer: 'https://idp.example.com', client_id: 'shop', client_secret: 'not for the list' },
          access: { allow_emails: ['ana@example.com'] },
        },
      },
      // Rules that are only rehearsed keep nobody out.
      {
        ...{ proto: 'https', domain: 'rehearsed.localhost', addr: world.upstreamAddress },
        modules: {
          oidc: { issuer: 'https://idp.example.com', client_id: 'shop', client_secret: 'not for the list' },
          access: { allow_emails: ['ana@example.com'], enforce: false },
        },
      },
    ],
  });
  assert.equal((await world.edge.ask('container.localhost')).status, 200);
  await page.setViewportSize({ width: 360, height: 740 });
  await admin.go('/sites');
  const agents = page.getByRole('region', { name: 'Published by agents' });
  const site = agents.locator('tr.row', { hasText: 'container.localhost' });
  await site.getByText(world.upstreamAddress).waitFor();
  await site.getByRole('cell', { name: '1', exact: true }).waitFor();
  await site.getByText('everybody', { exact: true }).waitFor();
  const closed = agents.locator('tr.row', { hasText: 'closed.localhost' });
  await closed.getByText('login at https://idp.example.com, access by ana@example.com').waitFor();
  const rehearsed = agents.locator('tr.row', { hasText: 'rehearsed.localhost' });
  await rehearsed.getByText('login at https://idp.example.com', { exact: true }).waitFor();
  assert.doesNotMatch(JSON.stringify(await api('GET', '/endpoints?limit=100')), /not for the list/);
  // Nothing that matters is hidden on a narrow screen.
  await row('open.localhost').getByText(world.upstreamAddress).waitFor();
  await row('agents.localhost').getByText('everybody from listed addresses').waitFor();
  assert.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true);
  await photograph('sites-with-agents');
  assert.deepEqual(await admin.axeFindings(), []);
  await page.setViewportSize({ width: 1280, height: 860 });
  await agent.close();
});

test('forms find what exists by name, have a picker for times, and say what is wrong while it is typed', {
  skip,
}, async () => {
  const { page } = admin;
  await admin.go('/people?tab=guest_links');
  await page.getByRole('button', { name: 'Create a guest link' }).first().click();
  const dialog = page.getByRole('dialog');
  await page.locator('datalist option[value^="page.localhost ("]').first().waitFor({ state: 'attached' });
  await dialog.getByLabel('Edge (required)').fill('page.localhost');
  await page.locator('datalist option[value^="page.localhost/ ("]').first().waitFor({ state: 'attached' });
  await dialog.getByLabel('Route (required)').fill('page.localhost/');
  await dialog.getByLabel('Email').fill('nobody');
  await dialog.locator('.problem', { hasText: 'Enter an e-mail address' }).waitFor();
  await dialog.getByLabel('Email').fill('');
  await dialog.getByLabel('Max browsers').fill('5000');
  await dialog.locator('.problem', { hasText: 'at most 1000' }).waitFor();
  await dialog.getByLabel('Max browsers').fill('2');
  const expires = dialog.getByLabel('Expires at (required)');
  await expires.fill('2020-01-01T10:00');
  await dialog.getByText('Choose a time in the future.').waitFor();
  await dialog.getByRole('button', { name: 'Review changes' }).click();
  assert.equal(await expires.getAttribute('aria-invalid'), 'true');
  await expires.waitFor();
  await dialog.getByLabel('Usual times').selectOption('in 7 days');
  assert.equal(await expires.getAttribute('aria-invalid'), 'false');
  await dialog.getByText(/^(next week|in (7|6) days): /).waitFor();
  // What matters comes before what every resource has.
  const labels = await dialog.locator('.field > label').allTextContents();
  assert.deepEqual(labels.slice(0, 3), ['Edge (required)', 'Route (required)', 'Expires at (required)']);
  assert.deepEqual(labels.slice(-2), ['Description', 'Metadata']);
  await photograph('guest-link-form');
  assert.deepEqual(await admin.axeFindings(), []);
  await dialog.getByRole('button', { name: 'Review changes' }).click();
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('button', { name: 'I have stored it' }).click();
  const [link] = (await api('GET', '/guest_links')).guest_links;
  assert.equal(link.max_browsers, 2);
  const leftDays = (Date.parse(link.expires_at) - Date.now()) / 86_400_000;
  assert.ok(leftDays > 6.9 && leftDays < 7.1, `${leftDays}`);
});

test('lists and maps say what is wrong with an entry while it is typed', { skip }, async () => {
  const { page } = admin;
  await admin.go('/backends?tab=tunnel_group');
  await page.getByRole('button', { name: 'Create a tunnel group backend' }).first().click();
  let dialog = page.getByRole('dialog');
  for (const name of ['app', 'app']) {
    await dialog.getByRole('button', { name: 'Add to Labels' }).click();
    await dialog
      .getByLabel(/^Labels: name/)
      .last()
      .fill(name);
  }
  await dialog.locator('.problem', { hasText: 'Another row has this name.' }).waitFor();
  await page.keyboard.press('Escape');
  const edge = await api('POST', '/edges/https', { hostports: ['typed.localhost:443'] });
  const route = await api('POST', `/edges/https/${edge.id}/routes`, { match: '/', match_type: 'path_prefix' });
  await admin.go(`/edges/${edge.id}/routes/${route.id}`);
  await page.getByLabel('Add a module').selectOption({ label: 'Maintenance' });
  dialog = page.getByRole('dialog');
  const add = dialog.getByRole('button', { name: 'Add to Allow cidrs' });
  await add.click();
  await dialog.getByLabel('Allow cidrs 1', { exact: true }).fill('203.0.113.7/32');
  assert.equal(await dialog.locator('fieldset .problem', { hasText: /./ }).count(), 0);
  await add.click();
  await dialog.getByLabel('Allow cidrs 2', { exact: true }).fill('203.0.113.7/32');
  await dialog.locator('.problem', { hasText: 'It is in the list already.' }).waitFor();
  await dialog.getByLabel('Allow cidrs 2', { exact: true }).fill('x'.repeat(65));
  await dialog.locator('.problem', { hasText: 'It has 65 characters, and 64 are allowed.' }).waitFor();
  assert.equal(await dialog.getByLabel('Allow cidrs 2', { exact: true }).getAttribute('aria-invalid'), 'true');
  await dialog.getByLabel('Allow cidrs 2', { exact: true }).fill('');
  await page.keyboard.press('Tab');
  await dialog.locator('.problem', { hasText: 'It is empty: fill it in, or remove it.' }).waitFor();
  assert.deepEqual(await admin.axeFindings(), []);
  await page.keyboard.press('Escape');
  await api('DELETE', `/edges/https/${edge.id}`);
});

test('links have the names of what they lead to, with one request for each kind', { skip }, async () => {
  const { page } = admin;
  for (const host of ['one.localhost', 'two.localhost']) {
    const edge = await api('POST', '/edges/https', { hostports: [`${host}:443`] });
    for (const match of ['/a', '/b'])
      await api('POST', `/edges/https/${edge.id}/routes`, { match, match_type: 'path_prefix' });
  }
  admin.requested.length = 0;
  await admin.go('/');
  const problems = page.getByRole('region', { name: 'Problems' });
  for (const name of ['one.localhost/a', 'one.localhost/b', 'two.localhost/a', 'two.localhost/b'])
    await problems.getByRole('link', { name, exact: true }).waitFor();
  const sites = page.getByRole('region', { name: 'Sites' }).first();
  await sites.getByRole('link', { name: 'open.localhost' }).waitFor();
  // The two lists of the page arrive one after the other.
  const lookups = admin.requested.filter((url) => url.includes('filter=obj.id'));
  const edges = lookups.filter((url) => url.includes('/edges/https?'));
  // The sites, the problems and the visitors; each with the backends of its sites.
  assert.ok(edges.length <= 4 && lookups.length - edges.length <= 6, lookups.join('\n'));

  const { token } = await api('POST', '/api_keys', { description: 'key of the robot' });
  const made = await fetch(`${baseUrl}/ip_policies`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'service-version': '2', 'content-type': 'application/json' },
    body: JSON.stringify({ description: 'the office' }),
  });
  assert.equal(made.status, 201);
  await admin.go('/changes');
  const change = page.locator('tr.row', { hasText: 'key of the robot' });
  await change.getByRole('link', { name: 'IP policy created' }).click();
  await page.getByRole('region', { name: 'IP policy created' }).getByText('the office', { exact: true }).waitFor();
});

test('forms of passwords, circuit breakers and lists save what they show, and show no secret', { skip }, async () => {
  const { page } = admin;
  const edge = await api('POST', '/edges/https', { hostports: ['forms.localhost:443'] });
  const route = await api('POST', `/edges/https/${edge.id}/routes`, { match_type: 'path_prefix', match: '/' });
  const routePath = `/edges/https/${edge.id}/routes/${route.id}`;
  await admin.go(`/edges/${edge.id}/routes/${route.id}`);
  await admin.addModule('Basic auth', async () => {
    // The form begins with what the job needs.
    await page.getByLabel('Username').fill('alice');
    await page.getByLabel('Password', { exact: true }).fill('correct horse battery');
  });
  await admin.addModule('Circuit breaker', async () => {
    await page.getByLabel('Error threshold percentage').fill('0.5');
    assert.deepEqual(await admin.axeFindings(), []);
  });
  assert.ok(!(await page.content()).includes('correct horse'));
  const basic = page.getByRole('region', { name: 'Basic auth module' });
  await basic.getByText('alice').waitFor();
  // The stored password stays when the form does not change it.
  await basic.getByRole('button', { name: 'Edit' }).click();
  await page.getByRole('dialog').getByText('More', { exact: true }).first().click();
  await page.getByRole('dialog').getByLabel('Realm').fill('Staging');
  await admin.save();
  const { users, realm } = await api('GET', `${routePath}/basic_auth`);
  assert.deepEqual([users[0].username, users[0].password, realm], ['alice', '', 'Staging']);
  assert.equal((await api('GET', `${routePath}/circuit_breaker`)).error_threshold_percentage, 0.5);

  const policy = await api('POST', '/ip_policies', { description: 'offices' });
  await admin.go('/resources/ip_policy_lists');
  await page.getByRole('button', { name: 'Create an IP policy list' }).first().click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel(/^IP policy/).fill(policy.id);
  await dialog.getByLabel('URL').fill('https://lists.invalid/blocked.txt');
  await dialog.getByRole('button', { name: 'Add to Headers' }).click();
  await dialog.getByLabel('Headers: name 1').fill('authorization');
  await dialog.getByLabel('Headers: value 1').fill('Bearer of-the-list');
  await photograph('list-form');
  await admin.save();
  const [list] = (await api('GET', '/ip_policy_lists')).ip_policy_lists;
  assert.deepEqual(
    [list.ip_policy.id, list.url, list.action],
    [policy.id, 'https://lists.invalid/blocked.txt', 'deny'],
  );
  assert.ok(!(await page.content()).includes('of-the-list'));
  await api('DELETE', `/edges/https/${edge.id}`);
});

test('a key that only reads edges sees the sites without targets and traffic', { skip }, async () => {
  const { token } = await api('POST', '/api_keys', { scopes: ['edges:read'] });
  const reader = await ConsoleVisitor.open(browser as Browser, baseUrl, { viewport: { width: 360, height: 740 } });
  await reader.logIn(token);
  await reader.go('/sites');
  await reader.page.locator('tr.row', { hasText: 'open.localhost' }).getByText('unknown').waitFor();
  assert.equal(await reader.page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true);
  await reader.close();
});
