import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, normalize } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { FlowCookies } from '../src/modules/login/flow-cookies.ts';
import { backupStore } from '../src/store/backup/backup-store.ts';
import { loadKeyring } from '../src/store/keyring.ts';
import { bodyOperations, FURNISHED_ENV, FurnishedWorld } from '../test/conformance/furnished-world.ts';
import { storedContents } from '../test/durability/stored-contents.ts';
import { EdgeWorld } from '../test/support/edge-world.ts';
import { IdentityBrowser } from '../test/support/identity-world.ts';
import { SoftAuthenticator } from '../test/support/soft-authenticator.ts';

/**
 * Writes what this version of Postern leaves behind, for `test/durability/previous-version.test.ts`: a data directory
 * with one of everything, a backup of it, cookies, the agent's sources, and what the API said about it all.
 *   node tools/write-version-fixture.ts     (on the locked Node, in a checkout of the version)
 * Until 0.1.0 is released, a change of what the store contains may write the file again. A released one stays.
 */
const ROOT = fileURLToPath(new URL('../', import.meta.url));
const AUTHTOKEN = 'previous-version-test-authtoken-0123456789';
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
const output = join(ROOT, 'test', 'durability', 'fixtures', `${version}.tar.gz`);
const folder = mkdtempSync(join(tmpdir(), 'postern-fixture-'));
const dataDir = join(folder, 'data');

await writeWorld();
await backupStore({ source: { engine: 'sqlite', dataDir }, file: join(folder, 'store.backup') });
copyAgent();
const sameEveryTime = ['--sort=name', '--owner=0', '--group=0', '--mtime=@0'];
execFileSync('tar', ['-czf', output, ...sameEveryTime, '-C', folder, '.']);
rmSync(folder, { recursive: true });
console.log(`wrote ${output}`);

async function writeWorld(): Promise<void> {
  const tasks: (() => unknown)[] = [];
  const env = {
    POSTERN_ROLES: 'api,edge,gateway,events',
    POSTERN_TUNNEL_LISTEN: '127.0.0.1:0',
    POSTERN_AUTHTOKEN: AUTHTOKEN,
    ...FURNISHED_ENV,
  };
  const edge = await EdgeWorld.open({ after: (task) => void tasks.push(task) }, env, { dataDir });
  const furnished = await FurnishedWorld.furnish(edge.world);
  for (const operation of bodyOperations) {
    if (operation.method !== 'PUT' || !/\/\{id\}\/\w+$/.test(operation.path)) continue;
    await edge.api('PUT', furnished.path(operation), furnished.example(operation));
  }
  const destination = await furnished.create('/event_destinations', { target: { file: { name: 'audit' } } });
  const sources = [{ type: 'ip_policy_created.v0' }];
  await furnished.create('/event_subscriptions', { sources, destination_ids: [destination] });
  await furnished.create('/ip_policies', { description: 'delivered' });
  const isDelivered = ({ state }: { state: string }): boolean => state === 'delivered';
  while (!(await edge.api('GET', '/event_deliveries?limit=100')).event_deliveries.some(isDelivered)) await sleep(20);
  const guest = await visitAsGuest(edge, furnished);
  const people = await invitePeople(edge);
  const contents = await storedContents(edge);
  const facts = { writtenAtMs: Date.now(), guest, people, ...loginInProgress(), contents };
  writeFileSync(join(folder, 'facts.json'), JSON.stringify(facts));
  for (const task of tasks) await task();
}

/** A browser that has redeemed a link, and its cookies. */
async function visitAsGuest(edge: EdgeWorld, furnished: FurnishedWorld) {
  const backend = await furnished.create('/backends/http_response', { body: 'for guests' });
  const site = await edge.site(backend);
  await edge.api('PUT', `${site.routePath}/access`, { allow: [{ guests: true }] });
  const expires = new Date(Date.now() + 80 * 86_400_000).toISOString();
  const place = { edge_id: site.edgeId, route_id: site.routeId, expires_at: expires };
  const { url } = await edge.api('POST', '/guest_links', place);
  const answer = await edge.ask(site.host, '/.postern/guest', {
    method: 'POST',
    body: `link=${encodeURIComponent(new URL(url).searchParams.get('link') ?? '')}`,
    headers: {
      accept: 'text/html',
      'content-type': 'application/x-www-form-urlencoded',
      origin: 'null',
      'sec-fetch-site': 'same-origin',
    },
  });
  assert.equal(answer.status, 303, answer.text);
  const lines = answer.headers['set-cookie'] as readonly string[];
  return { host: site.host, cookie: lines.map((line) => line.slice(0, line.indexOf(';'))).join('; ') };
}

/** A person with a passkey and the link that they used, one with a link, and the keys that sign logins. */
async function invitePeople(edge: EdgeWorld) {
  const origin = `https://${FURNISHED_ENV.POSTERN_IDENTITY_HOST}`;
  const server = { edge, origin };
  const linkOf = async (email: string): Promise<string> =>
    (await edge.api('POST', '/user_accounts', { email })).invitation_url;
  const [spentLink, link] = [await linkOf('registered@example.com'), await linkOf('invited@example.com')];
  const device = new SoftAuthenticator(origin);
  const answer = await new IdentityBrowser(server).accept(spentLink, device);
  assert.equal(answer.status, 303, answer.text);
  const keys = JSON.parse((await new IdentityBrowser(server).open('/jwks')).text);
  return { passkey: device.exported(), spentLink, link, keys };
}

/** Made with the data directory's key: the cookie of a login in progress. */
function loginInProgress() {
  const keyring = loadKeyring({ dataDir, configured: null, mayCreate: false });
  const flows = new FlowCookies({
    seal: (purpose, text) => keyring.seal(text, `purpose/${purpose}`),
    open: (purpose, sealed) => keyring.open(sealed, `purpose/${purpose}`),
    randomText: (bytes) => randomBytes(bytes).toString('base64url'),
  });
  const flow = {
    state: flows.newState(0),
    nonce: randomBytes(32).toString('base64url'),
    codeVerifier: randomBytes(32).toString('base64url'),
    returnTo: '/there?and=back',
    routeId: 'edghtsrt_fixture',
    host: 'app.localhost',
    askedFor: 'fixture',
    redirectUri: 'https://app.localhost/postern/oidc/callback',
    startedAtMs: Date.now(),
    startedIn: '192.0.2.0/24',
  };
  return { flow, flowCookie: flows.start([], flow)[0]?.split(';')[0] ?? '' };
}

/** The files that the agent library consists of. */
function copyAgent(): void {
  const files = new Set(['src/tunnel/agent/index.ts']);
  for (const path of files) {
    const text = readFileSync(join(ROOT, path), 'utf8');
    for (const [, target = ''] of text.matchAll(/from '(\.[^']+)'/g)) files.add(normalize(join(dirname(path), target)));
    mkdirSync(join(folder, 'agent', dirname(path)), { recursive: true });
    cpSync(join(ROOT, path), join(folder, 'agent', path));
  }
  cpSync(join(ROOT, 'package.json'), join(folder, 'agent', 'package.json'));
}
