import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { type Browser, type BrowserContextOptions, chromium } from 'playwright-core';
import { checks } from '../../src/control/findings/registry.ts';
import { connect } from '../../src/tunnel/agent/index.ts';
import { buildConsoleIfStale } from '../../tools/build-console.ts';
import { issue } from '../edge/tls/test-authority.ts';
import { CHROMIUM_FLAGS, chromiumPath } from '../support/chromium.ts';
import { CLIENT_ID, CLIENT_SECRET, LoginWorld } from '../support/login-world.ts';
import { TEST_API_KEY } from '../support/test-world.ts';
import { ConsoleVisitor } from './console-visitor.ts';
import { plantHostileText } from './hostile-text.ts';

const executablePath = chromiumPath();
const skip = executablePath === null && 'chromium is not on the PATH: the console is NOT tested in a browser';
if (skip !== false) console.error(`\n!! ${skip}\n`);

/** A folder for screenshots of every page, at three widths and in both themes. */
const SCREENSHOTS = process.env['POSTERN_CONSOLE_SCREENSHOTS'];
const HOST = 'walk.localhost';
const PAGES = [
  '/',
  '/sites',
  '/publish',
  '/edges',
  '/backends?tab=http_response',
  '/tunnels',
  '/certificates',
  '/people',
  '/access',
  '/keys',
  '/changes',
  '/events?tab=event_destinations',
  '/traffic',
  '/explain',
  '/settings',
  '/sessions',
  '/search?q=walk',
  '/resources/ip_policies',
];
const WRITES = /^(Create|Edit|Delete|Remove|Revoke|Undo|Add|Replay|Stop|Restart|Confirm|Revert)\b/;

buildConsoleIfStale();
const AUTHTOKEN = 'console-test-token-0123456789-0123456789';
const gateway = { POSTERN_ROLES: 'api,edge,gateway,events', POSTERN_TUNNEL_LISTEN: '127.0.0.1:0' };
const world = await LoginWorld.open({ after }, { env: { ...gateway, POSTERN_AUTHTOKEN: AUTHTOKEN } });
const { baseUrl } = world.edge.world;
world.register(HOST);
const browser: Browser | null =
  executablePath === null ? null : await chromium.launch({ executablePath, args: CHROMIUM_FLAGS });
after(async () => browser?.close());
const open = (options: BrowserContextOptions = {}): Promise<ConsoleVisitor> =>
  ConsoleVisitor.open(browser as Browser, baseUrl, options);
const admin = browser === null ? (null as never) : await open();
/** Page of the route, which is below /console as below /edges/https in the API. */
let routePage = '';
const { paths } = (await world.edge.world.api('GET', '/openapi.json')).body;
const withoutExplain = !('/explain' in paths) && 'this server cannot explain requests';
const photograph = async (name: string): Promise<void> => {
  if (SCREENSHOTS !== undefined) await admin.photograph(join(SCREENSHOTS, name));
};
const api: LoginWorld['edge']['api'] = (method, path, body) => world.edge.api(method, path, body);

test('a wrong key is refused with advice, and a right one is not kept', { skip }, async () => {
  const { page } = admin;
  await page.goto(`${baseUrl}/console/edges`);
  await page.getByLabel('API key').fill('wrong-key-0123456789');
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByRole('alert').getByText('check that it is complete').waitFor();
  await admin.logIn(TEST_API_KEY);
  const kept = await page.evaluate('JSON.stringify([{ ...sessionStorage }, { ...localStorage }, document.cookie])');
  assert.ok(!String(kept).includes(TEST_API_KEY));
  await page.reload();
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
  await admin.settle();
  const firstLoad = await page.evaluate(
    `[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
      .reduce((bytes, { encodedBodySize }) => bytes + encodedBodySize, 0)`,
  );
  assert.ok(Number(firstLoad) < 150 * 1024, `${Number(firstLoad)} bytes`);
});

test('a person creates an edge, a route and its modules', { skip }, async () => {
  const { page } = admin;
  await admin.navigate('Edges and routes');
  await page.getByRole('button', { name: 'Create an edge' }).first().click();
  await page.getByLabel('Hostports 1', { exact: true }).fill(`${HOST}:443`);
  await page.getByLabel('Description', { exact: true }).fill('made by hand');
  await admin.save();
  await page.getByRole('heading', { name: HOST, level: 1 }).waitFor();
  await page.getByRole('button', { name: 'Create a route' }).click();
  await admin.save();
  await page.getByRole('heading', { name: 'Route /', level: 1 }).waitFor();
  routePage = new URL(page.url()).pathname.slice('/console'.length);

  await admin.navigate('Backends');
  await page.getByRole('tab', { name: 'Static', exact: true }).click();
  await page.getByRole('button', { name: 'Create a static backend' }).click();
  await page.getByLabel('Address').fill(world.upstreamAddress);
  await admin.save();
  await page.getByRole('link', { name: world.upstreamAddress }).waitFor();
  const [{ id: backendId }] = (await api('GET', '/backends/static')).backends;

  await admin.go(routePage);
  await admin.addModule('Backend', () => page.getByLabel('Backend (required)').fill(backendId));
  await admin.addModule('Compression', async () => {});
  await admin.addModule('OIDC', async () => {
    await page.getByLabel('Issuer').fill(world.provider.issuer);
    await page.getByLabel('Client ID').fill(CLIENT_ID);
    await page.getByLabel('Client secret').fill(CLIENT_SECRET);
  });
  await page.getByRole('region', { name: 'OIDC module' }).getByText(world.provider.issuer).waitFor();
  assert.ok(!(await page.content()).includes(CLIENT_SECRET));
  const answer = await world.browser().logIn(HOST, '/seen');
  assert.equal(answer.status, 200);
});

test('the request is in the traffic view, with what each module decided', { skip }, async () => {
  const { page } = admin;
  await admin.navigate('Live traffic');
  const passed = page
    .locator('tr.row', { hasText: '200' })
    .getByRole('link', { name: /^GET walk\.localhost.*\/seen$/ });
  await passed.click();
  await page.getByRole('heading', { name: new RegExp(`^GET ${HOST}`), level: 1 }).waitFor();
  const decisions = page.getByRole('region', { name: 'Decisions' });
  await decisions.getByRole('listitem').filter({ hasText: 'oidc' }).getByText('pass').waitFor();
  await page.getByText(world.upstreamAddress).waitFor();
  await photograph('request');
});

test('a request appears in the traffic view while it is open', { skip }, async () => {
  const { page } = admin;
  await admin.navigate('Live traffic');
  await page.getByText('live', { exact: true }).waitFor();
  await world.edge.ask(HOST, '/arrives');
  await page.getByRole('link', { name: /\/arrives$/ }).waitFor();
});

test('the request is explained, without and with a person', { skip: skip || withoutExplain }, async () => {
  const { page } = admin;
  await admin.go(`/explain?url=${encodeURIComponent(`https://${HOST}/seen`)}`);
  const outcome = page.getByRole('region', { name: 'Outcome' });
  await outcome.getByText('ERR_POSTERN_LOGIN_REQUIRED').waitFor();
  await outcome.getByRole('link', { name: 'Change who may enter' }).waitFor();
  await page.getByLabel('As this person (e-mail)').fill('ana@example.com');
  await page.getByRole('button', { name: 'Explain', exact: true }).click();
  await outcome.getByText(world.upstreamAddress).waitFor();
  await outcome.getByText('passes', { exact: true }).waitFor();
  assert.equal(await outcome.getByText('Refused by').count(), 0);
  await photograph('explained');
});

test('a name that no site has appears in the live traffic, and on a page of its own', { skip }, async () => {
  const { page } = admin;
  await admin.go('/traffic');
  await assert.rejects(world.edge.connect('typo.example.com'));
  await page.getByRole('link', { name: 'typo.example.com: no site for this name' }).click();
  await page.getByRole('region', { name: 'Decisions' }).getByText('no site for this name').waitFor();
  await photograph('unknown-name');
});

test('a request with a client certificate is explained', { skip: skip || withoutExplain }, async () => {
  const { page } = admin;
  const authority = await issue({ commonName: 'root', isCa: true });
  const { certificatePem } = await issue({ commonName: 'laptop', usages: ['client'], issuer: authority });
  const site = await world.edge.site(await world.edge.staticBackend(world.upstreamAddress));
  const { id } = await api('POST', '/certificate_authorities', { ca_pem: authority.certificatePem });
  await api('PUT', `${site.edgePath}/mutual_tls`, { certificate_authority_ids: [id] });
  await admin.go('/traffic');
  await admin.go(`/explain?url=${encodeURIComponent(`https://${site.host}/`)}`);
  await page.getByText('The site requires a client certificate, and the request has none').waitFor();
  await page.getByText('Client certificate', { exact: true }).click();
  await page.getByLabel('Certificate in PEM form').fill(certificatePem);
  await page.getByRole('button', { name: 'Explain', exact: true }).click();
  await page.getByRole('region', { name: 'Outcome' }).getByText(world.upstreamAddress).waitFor();
  await photograph('explained-certificate');
  await world.edge.world.api('DELETE', site.edgePath);
});

test('of two people who edit one edge, the second sees both versions and overwrites nothing', { skip }, async () => {
  const { page } = admin;
  const edgePage = routePage.split('/routes/')[0] as string;
  const edgePath = edgePage.replace('/edges/', '/edges/https/');
  await admin.go(edgePage);
  await page.getByRole('button', { name: 'Edit', exact: true }).first().click();
  await page.getByLabel('Description', { exact: true }).fill('mine');
  await api('PATCH', edgePath, { metadata: 'theirs' });
  await page.getByRole('button', { name: 'Review changes' }).click();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('region', { name: 'Their changes' }).getByText('theirs').waitFor();
  await page.getByRole('region', { name: 'Your changes' }).getByText('mine').waitFor();
  await photograph('conflict');
  await page.getByRole('button', { name: 'Apply my changes to it' }).click();
  await admin.save();
  const { description, metadata } = await api('GET', edgePath);
  assert.deepEqual([description, metadata], ['mine', 'theirs']);
});

test('a change is undone on its page', { skip }, async () => {
  const { page } = admin;
  await admin.navigate('Changes');
  await page.getByRole('link', { name: 'HTTPS edge updated' }).first().click();
  await page
    .getByRole('region', { name: /^Difference of/ })
    .getByText('mine')
    .waitFor();
  await photograph('change');
  await page.getByRole('button', { name: 'Undo', exact: true }).click();
  await page.getByRole('button', { name: 'Undo the change' }).click();
  await page.getByText('The change is undone.').waitFor();
  const edgePath = routePage.split('/routes/')[0]?.replace('/edges/', '/edges/https/') as string;
  assert.equal((await api('GET', edgePath)).description, 'made by hand');
});

test('a change on trial waits on every page, for everybody, and is reverted or confirmed there', { skip }, async () => {
  const { page } = admin;
  const edgePage = routePage.split('/routes/')[0] as string;
  const edgePath = edgePage.replace('/edges/', '/edges/https/');
  const banner = page.getByRole('region', { name: 'Change that waits' });
  const saveOnTrial = async (description: string): Promise<void> => {
    await admin.go(edgePage);
    await page.getByRole('button', { name: 'Edit', exact: true }).first().click();
    await page.getByLabel('Description', { exact: true }).fill(description);
    await page.getByRole('button', { name: 'Review changes' }).click();
    assert.equal(await page.getByRole('region', { name: 'Changes' }).locator('tr.removed').count(), 1);
    await page.getByText('More', { exact: true }).last().click();
    await page.getByLabel('Keep the change').selectOption({ label: 'Only if I confirm it within 5 minutes' });
    await photograph('review');
    await page.getByRole('button', { name: 'Save' }).click();
    await banner.getByText(/waits for a confirmation.*reverts it in [45]:\d\d/).waitFor();
    assert.equal((await api('GET', edgePath)).description, description);
  };
  await saveOnTrial('risky');
  await page.reload();
  await banner.getByText(/reverts it in [45]:\d\d/).waitFor();
  const { token } = await api('POST', '/api_keys', { scopes: ['*:read'] });
  const colleague = await open();
  await colleague.logIn(token);
  const seen = colleague.page.getByRole('region', { name: 'Change that waits' });
  await seen.getByText('waits for a confirmation').waitFor();
  assert.equal(await seen.getByRole('button').count(), 0, 'it only reads');
  await banner.getByRole('button', { name: 'Revert' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revert' }).click();
  await page.getByText('The change is reverted.').waitFor();
  await banner.waitFor({ state: 'detached' });
  // The page below shows the restored document without a reload.
  await page.getByText('made by hand').first().waitFor();

  await saveOnTrial('checked');
  await photograph('edge-with-change-that-waits');
  assert.deepEqual(await admin.axeFindings(), []);
  await banner.getByRole('button', { name: 'Confirm' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Confirm' }).click();
  await page.getByText('The change is confirmed.').waitFor();
  await banner.waitFor({ state: 'detached' });
  assert.equal((await api('GET', edgePath)).description, 'checked');
  await colleague.page
    .getByText(/no longer waits\. Reload the page/)
    .first()
    .waitFor();
  await colleague.close();
});

test('a change on trial overwrites nobody, and a module is removed on trial', { skip }, async () => {
  const { page } = admin;
  const edgePage = routePage.split('/routes/')[0] as string;
  const edgePath = edgePage.replace('/edges/', '/edges/https/');
  await admin.go(edgePage);
  await page.getByRole('button', { name: 'Edit', exact: true }).first().click();
  await page.getByLabel('Description', { exact: true }).fill('mine');
  await page.getByRole('button', { name: 'Review changes' }).click();
  await page.getByText('More', { exact: true }).last().click();
  await page.getByLabel('Keep the change').selectOption('1m');
  await api('PATCH', edgePath, { metadata: 'theirs too' });
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('region', { name: 'Their changes' }).getByText('theirs too').waitFor();
  await page.getByRole('button', { name: 'Cancel' }).click();
  assert.equal((await api('GET', edgePath)).description, 'checked');

  await admin.go(routePage);
  await page.getByRole('button', { name: 'Remove Compression' }).click();
  await page.getByText('More', { exact: true }).last().click();
  await page.getByLabel('Keep the change').selectOption('1m');
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await page.getByRole('region', { name: 'Compression module' }).waitFor({ state: 'detached' });
  const banner = page.getByRole('region', { name: 'Change that waits' });
  await banner.getByRole('button', { name: 'Revert' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revert' }).click();
  await page.getByRole('region', { name: 'Compression module' }).waitFor();
});

test('the tunnels page shows traffic and latency of a real agent as they are', { skip }, async () => {
  const { page } = admin;
  const agent = await connect({
    serverAddr: `127.0.0.1:${world.edge.world.server.addresses.tunnel?.port}`,
    ...{ authtoken: AUTHTOKEN, ca: world.edge.ca, metadata: 'of the console test' },
    tunnels: [{ proto: 'https', addr: world.upstreamAddress }],
  });
  await admin.go('/tunnels');
  await page
    .locator('tr.row', { hasText: 'of the console test' })
    .getByText(/^(<1|\d+)(–\d+)? ms$/)
    .waitFor();
  await photograph('agents-online');
  await page.getByRole('tab', { name: 'Tunnels' }).click();
  const { hostname } = new URL(agent.publicUrl ?? '');
  const row = page.locator('tr.row', { hasText: hostname });
  await row.getByText('0', { exact: true }).first().waitFor();
  for (let count = 0; count < 7; count += 1) assert.equal((await world.edge.ask(hostname)).status, 200);
  await row.getByText('7', { exact: true }).waitFor();
  await row
    .getByTitle(/^\d+ B per second/)
    .filter({ hasNotText: /^0$/ })
    .waitFor();
  await photograph('tunnels-online');
  assert.deepEqual(await admin.axeFindings(), []);
  await agent.close();
  await page.getByRole('heading', { name: 'No tunnels are open' }).waitFor();
});

test('the overview names a problem with advice, leads to its object, and forgets it when it is gone', {
  skip,
}, async () => {
  const { page } = admin;
  const edge = await api('POST', '/edges/https', { hostports: ['lonely.localhost:443'] });
  const route = await api('POST', `/edges/https/${edge.id}/routes`, { match: '/x', match_type: 'path_prefix' });
  await admin.go('/');
  const problem = page.getByRole('region', { name: 'Problems' }).getByRole('listitem').filter({ hasText: route.id });
  await problem.getByText('has no backend: its requests get 503').waitFor();
  await problem.getByText('set one: postern api backend replace').waitFor();
  await photograph('overview-with-problems');
  await problem.getByRole('link').click();
  await page.getByRole('heading', { name: 'Route /x', level: 1 }).waitFor();
  await world.edge.world.api('DELETE', `/edges/https/${edge.id}`);
  await admin.go('/');
  await page
    .getByRole('region', { name: 'Problems' })
    .getByText(/^checked/)
    .waitFor();
  assert.equal(await problem.count(), 0);
  const { token } = await api('POST', '/api_keys', { scopes: ['ip_policies:read'] });
  const other = await open();
  await other.logIn(token);
  await other.page.getByRole('heading', { name: 'No problems in what you may read' }).waitFor();
  // Every check needs another scope than this key has.
  const skipped = [...new Set(checks.map(({ name }) => name))].join(', ');
  await other.page
    .getByText(`Not checked, because your scopes do not allow it: ${skipped}.`, { exact: true })
    .waitFor();
  await other.close();
});

test('a new key is shown once, and is gone from the page afterwards', { skip }, async () => {
  const { page } = admin;
  await admin.navigate('Keys and tokens');
  await page.getByRole('button', { name: 'Create an API key' }).click();
  await page.getByLabel('Everything', { exact: true }).check();
  await page.getByLabel('Description', { exact: true }).fill('for a script');
  await page.getByRole('dialog').getByRole('button', { name: 'Review changes' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  const secret = (await page.locator('.secret-once code').textContent()) as string;
  assert.equal((await world.edge.world.api('GET', '/edges/https', undefined, { key: secret })).status, 200);
  await page.getByRole('button', { name: 'I have stored it' }).click();
  await page.getByRole('link', { name: 'for a script' }).waitFor();
  assert.ok(!(await page.content()).includes(secret));
});

test('a person invites an agent, and sees the line for its machine once', { skip }, async () => {
  const { page } = admin;
  await page.getByRole('tab', { name: 'Agent invitations' }).click();
  await page.getByRole('button', { name: 'Invite an agent' }).first().click();
  await page.getByLabel('Description', { exact: true }).fill('build machine');
  await page.getByRole('dialog').getByRole('button', { name: 'Review changes' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  const line = (await page.locator('.secret-once code').textContent()) as string;
  assert.match(line, /^postern agent join pstn-[\w-]+$/);
  await photograph('agent-invitation');
  await page.getByRole('button', { name: 'Done' }).click();
  await page.getByRole('link', { name: 'build machine' }).waitFor();
  assert.ok(!(await page.content()).includes(line));
});

test('hostile names run nothing, and axe-core finds nothing on any page', { skip }, async () => {
  await plantHostileText(api);
  const { https_edges: edges } = await api('GET', '/edges/https?q=walk');
  const { requests } = await api('GET', '/requests?limit=1');
  const { changes } = await api('GET', '/changes?limit=1');
  const pages = [
    ...PAGES,
    routePage,
    `/sites/${edges[0].id}`,
    `/traffic/${requests[0].id}`,
    `/changes/${changes[0].revision}`,
  ];
  if (SCREENSHOTS !== undefined) mkdirSync(SCREENSHOTS, { recursive: true });
  const findings: string[] = [];
  for (const below of pages) {
    await admin.go(below);
    findings.push(...(await admin.axeFindings()).map((finding) => `${below} ${finding}`));
    assert.equal(await admin.page.evaluate('window.hacked'), undefined, below);
    assert.equal(await admin.page.locator('img, iframe, a[href^="javascript:" i]').count(), 0, below);
    await photograph(nameOf(below));
  }
  assert.deepEqual(findings, []);
  // A page that takes text for markup violates its policy (trusted types) before anything runs.
  assert.deepEqual(admin.complaints, []);
  assert.deepEqual(
    admin.requested.filter((url) => !url.startsWith(`${baseUrl}/`)),
    [],
  );
});

test('the search finds an edge by its host, and leads to it', { skip }, async () => {
  const { page } = admin;
  await page.getByRole('searchbox', { name: /^Search hosts/ }).fill('walk.loc');
  await page.keyboard.press('Enter');
  await page.getByRole('region', { name: 'Results' }).getByRole('link', { name: HOST, exact: true }).first().click();
  await page.getByRole('heading', { name: HOST, level: 1 }).waitFor();
});

test('a key that only reads is offered nothing to write, and the API refuses anyway', { skip }, async () => {
  const { token } = await api('POST', '/api_keys', { description: 'viewer', scopes: ['*:read'] });
  const viewer = await open({ viewport: { width: 360, height: 740 } });
  await viewer.logIn(token);
  for (const below of [...PAGES, routePage]) {
    await viewer.go(below);
    const names = await viewer.page
      .locator('main button, main select')
      .evaluateAll((found) => found.map((each) => each.getAttribute('aria-label') ?? each.textContent ?? ''));
    assert.deepEqual(
      names.filter((name) => WRITES.test(name.trim())),
      [],
      below,
    );
    assert.equal(await viewer.page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true, below);
  }
  const status = await viewer.page.evaluate(
    `fetch('/edges/https', { method: 'POST', body: '{}', headers: { 'content-type': 'application/json', 'service-version': '2',
      'postern-console-token': localStorage.getItem('postern-console-token') } }).then(({ status }) => status)`,
  );
  assert.equal(status, 403);
  await viewer.close();
});

test('the drawer and the logout work with the keyboard alone', { skip }, async () => {
  const { page } = admin;
  await page.setViewportSize({ width: 360, height: 740 });
  await page.getByRole('button', { name: 'Navigation', exact: true }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'Settings', exact: true }).focus();
  await page.keyboard.press('Enter');
  // The page moves the focus after it has shown the heading.
  await page.locator('h1:focus', { hasText: 'Settings' }).waitFor();
  await page.getByRole('button', { name: 'Log out' }).focus();
  await page.keyboard.press('Enter');
  await page.getByLabel('API key').waitFor();
  await admin.close();
});

function nameOf(below: string): string {
  return (
    below
      .replaceAll(/[^a-z0-9]+/gi, '-')
      .replaceAll(/^-|-$/g, '')
      .slice(0, 40) || 'overview'
  );
}
