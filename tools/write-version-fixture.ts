import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, normalize, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';

/**
 * Writes what a version of Postern leaves behind, for `test/durability/previous-version.test.ts`: a data directory, a backup of it,
 * cookies, and the agent's sources.
 *   git worktree add ../old <commit> && (cd ../old && npm ci)
 *   node tools/write-version-fixture.ts ../old test/durability/fixtures/<commit>.tar.gz
 */
const [checkout = '', output = ''] = process.argv.slice(2).map((path) => resolve(path));
if (output === '') throw new Error('usage: node tools/write-version-fixture.ts CHECKOUT OUTPUT.tar.gz');

const API_KEY = 'previous-version-test-api-key-0123456789';
const folder = mkdtempSync(join(tmpdir(), 'postern-fixture-'));
const dataDir = join(folder, 'data');
await fillDataDirectory();
await run(['store', 'backup', join(folder, 'previous.backup'), '--data-dir', dataDir]);
await writeCookies();
copyAgent();
execFileSync('tar', ['-czf', output, '-C', folder, '.']);
rmSync(folder, { recursive: true });
console.log(`wrote ${output}`);

async function fillDataDirectory(): Promise<void> {
  const listeners = ['api', 'edge', 'edge-http', 'tunnel'].flatMap((name) => [`--${name}-listen`, '127.0.0.1:0']);
  const server = spawn(process.execPath, [launcher(), 'server', '--data-dir', dataDir, ...listeners], {
    env: { ...process.env, POSTERN_API_KEY: API_KEY, POSTERN_AUTHTOKEN: 'previous-version-test-authtoken-0123456789' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  for await (const line of createInterface({ input: server.stdout })) {
    const { msg, base_url: baseUrl } = JSON.parse(line) as { msg: string; base_url: string };
    if (msg !== 'ready') continue;
    await create(baseUrl);
    break;
  }
  server.stdout.resume();
  server.kill('SIGTERM');
  await once(server, 'exit');
}

async function create(baseUrl: string): Promise<void> {
  const post = async (path: string, body: object): Promise<string> => {
    const headers = { authorization: `Bearer ${API_KEY}`, 'service-version': '2', 'content-type': 'application/json' };
    const response = await fetch(`${baseUrl}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return ((await response.json()) as { id: string }).id;
  };
  const destination = await post('/event_destinations', { target: { file: { name: 'x' } } });
  const sources = [{ type: 'https_edge_created.v0' }];
  await post('/event_subscriptions', { description: 'fixture', sources, destination_ids: [destination] });
  const policy = await post('/ip_policies', { description: 'fixture' });
  await post('/ip_policy_rules', { ip_policy_id: policy, cidr: '127.0.0.0/8', action: 'allow' });
  const backend = await post('/backends/http_response', { status_code: 200, body: 'hello from the past' });
  const edge = await post('/edges/https', { hostports: ['app.localhost:443'] });
  await post(`/edges/https/${edge}/routes`, {
    match_type: 'path_prefix',
    match: '/',
    backend: { backend_id: backend },
    compression: { enabled: true },
    ip_restriction: { ip_policy_ids: [policy] },
    oidc: { issuer: 'https://login.example.com', client_id: 'fixture', client_secret: 'fixture-client-secret' },
  });
  await post('/credentials', { description: 'fixture', acl: ['bind:app.example.com'] });
  // The event is delivered within a second; the server drains what is in progress when it stops.
  await sleep(3000);
}

async function run(args: readonly string[]): Promise<void> {
  const [code] = (await once(spawn(process.execPath, [launcher(), ...args], { stdio: 'inherit' }), 'exit')) as [number];
  if (code !== 0) throw new Error(`postern ${args.join(' ')} exited with ${code}`);
}

function launcher(): string {
  return join(checkout, 'bin', 'postern.mjs');
}

/** Made by the version's own code with the data directory's key: a session, and a login in progress. */
async function writeCookies(): Promise<void> {
  const load = <Module>(path: string): Promise<Module> =>
    import(pathToFileURL(join(checkout, path)).href) as Promise<Module>;
  const { loadKeyring } = await load<typeof import('../src/store/load-keyring.ts')>('src/store/load-keyring.ts');
  const keyring = loadKeyring({ dataDir, configured: null, mayCreate: false });
  const cookies = 'src/modules/login/cookies';
  const { SessionCookies } = await load<typeof import('../src/modules/login/cookies/session-cookie.ts')>(
    `${cookies}/session-cookie.ts`,
  );
  const { FlowCookies } = await load<typeof import('../src/modules/login/cookies/flow-cookies.ts')>(
    `${cookies}/flow-cookies.ts`,
  );
  const randomText = (bytes: number): string => randomBytes(bytes).toString('base64url');
  const flows = new FlowCookies({
    seal: (purpose, text) => keyring.seal(text, `purpose/${purpose}`),
    open: (purpose, sealed) => keyring.open(sealed, `purpose/${purpose}`),
    randomText,
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
  };
  const session = new SessionCookies((purpose, data) => keyring.mac(purpose, data), randomText).create();
  const flowCookie = flows.start([], flow)[0]?.split(';')[0];
  writeFileSync(join(folder, 'cookies.json'), JSON.stringify({ session, flow, flowCookie }));
}

/** The files that its agent library consists of. */
function copyAgent(): void {
  const files = new Set(['src/agent/index.ts']);
  for (const path of files) {
    const text = readFileSync(join(checkout, path), 'utf8');
    for (const [, target = ''] of text.matchAll(/from '(\.[^']+)'/g)) files.add(normalize(join(dirname(path), target)));
    mkdirSync(join(folder, 'agent', dirname(path)), { recursive: true });
    cpSync(join(checkout, path), join(folder, 'agent', path));
  }
  cpSync(join(checkout, 'package.json'), join(folder, 'agent', 'package.json'));
}
