import assert from 'node:assert/strict';
import { test } from 'node:test';
import { consoleSite, publishSite } from '../../src/app/cli/up/publish-site.ts';
import { factsInEffect, readSettings } from '../../src/app/cli/up/reach-server.ts';
import { loadConfig } from '../../src/app/settings/load.ts';
import { Transport } from '../../src/client/transport.ts';
import { HostBrowser, openWithoutProof } from '../identity/without-proof.ts';
import { TEST_API_KEY } from '../support/test-world.ts';

const HOST = 'console.example.test';
const ORIGIN = `https://${HOST}`;

test('at the host of --console, administrators log in through the edge and use the API, and nobody else gets in', async (t) => {
  const world = await openWithoutProof(t, { env: { POSTERN_API_URL: ORIGIN, POSTERN_API_BEHIND_EDGE: 'true' } });
  const { api } = world.edge.world.server.addresses;
  const here = `http://127.0.0.1:${api.port}`;
  const transport = new Transport({ baseUrl: here, apiKey: TEST_API_KEY });
  const settings = await readSettings(transport);
  const loaded = loadConfig({ flags: new Map([['api-listen', `127.0.0.1:${api.port}`]]), env: {} });
  const context = { env: {}, isTerminal: false, print: () => {}, warn: () => {} };
  const parsed = { flags: new Map(), values: new Map(), positionals: [] };
  const facts = { ...factsInEffect(settings), publicPort: 443 };
  await publishSite(transport, { wanted: consoleSite(HOST, settings, loaded), settings, facts, parsed, context });
  const person = async (email: string, groups: readonly string[]): Promise<string> =>
    (await world.edge.api('POST', `${here}/user_accounts`, { email, name: email, groups })).id;

  const admin = new HostBrowser(world.edge);
  const done = await enter(admin, await person('admin@example.com', ['postern-admins']));
  const [, token = ''] = /^#token=([\w-]{43})$/.exec(done.hash) ?? [];
  assert.notEqual(token, '', done.href);
  const headers = { 'postern-console-token': token, 'service-version': '2', accept: 'application/json' };
  const keys = await admin.ask(`${ORIGIN}/api_keys`, { headers });
  assert.equal(keys.status, 200, keys.text);
  const write = { ...headers, origin: ORIGIN, 'content-type': 'application/json', 'sec-fetch-mode': 'cors' };
  const made = await admin.ask(`${ORIGIN}/ip_policies`, {
    method: 'POST',
    headers: write,
    body: '{"description":"x"}',
  });
  assert.equal(made.status, 201, made.text);

  const other = await new HostBrowser(world.edge).open(`${ORIGIN}/console`, await person('other@example.com', ['ops']));
  assert.equal(other.status, 403, other.text);
});

/** The last redirect of a login. */
async function enter(browser: HostBrowser, account: string): Promise<URL> {
  const page = await browser.open(`${ORIGIN}/healthz`, account);
  assert.equal(page.status, 200, page.text);
  return (await browser.open(`${ORIGIN}/console/login`, account)).url;
}
