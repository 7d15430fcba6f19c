import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { cp, mkdir, readFile, symlink } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import { request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, suite, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type Flow, FlowCookies } from '../../src/modules/login/cookies/flow-cookies.ts';
import { loadKeyring } from '../../src/store/load-keyring.ts';
import type { Cleanup } from '../support/cleanup.ts';
import { startPostern, startServerProcess } from '../support/server-process.ts';
import { firstOf } from '../support/share-of-cases.ts';
import { tempDir } from '../support/temp-dir.ts';

/**
 * Each holds a data directory that the commit's server closed, and a backup of it. It has an edge with a route, four
 * modules, a secret, a policy, a subscription with a delivered event, internal CAs in files, and the two first secrets.
 * `tools/write-version-fixture.ts` writes such a file, since a61189e with cookies and the sources of the agent.
 */
const COMMITS = ['8841b8c', 'a61189e'];
const API_KEY = 'previous-version-test-api-key-0123456789';
const AUTHTOKEN = 'previous-version-test-authtoken-0123456789';
const NODE_MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url));

interface Cookies {
  readonly flow: Flow;
  /** Name and value, as the browser sends it. */
  readonly flowCookie: string;
}

interface Edge {
  readonly hostports: readonly string[];
  readonly routes: readonly [
    { oidc: { client_secret: string }; compression: object; ip_restriction: object; backend: object },
  ];
}

async function unpacked(t: Cleanup, commit: string): Promise<string> {
  const folder = await tempDir(t);
  const fixture = fileURLToPath(new URL(`./fixtures/${commit}.tar.gz`, import.meta.url));
  execFileSync('tar', ['-xzf', fixture, '-C', folder, '--no-same-owner']);
  return folder;
}

async function read<Body>(baseUrl: string, path: string): Promise<Body> {
  const headers = { authorization: `Bearer ${API_KEY}`, 'service-version': '2' };
  const response = await fetch(`${baseUrl}${path}`, { headers });
  assert.equal(response.status, 200, path);
  return (await response.json()) as Body;
}

async function holdsEverything(baseUrl: string): Promise<void> {
  const { https_edges: edges } = await read<{ https_edges: Edge[] }>(baseUrl, '/edges/https');
  assert.deepEqual(
    edges.map(({ hostports }) => hostports),
    [['app.localhost:443']],
  );
  const [route] = (edges[0] as Edge).routes;
  assert.equal(route.oidc.client_secret, 'fixture-client-secret');
  for (const module of [route.compression, route.ip_restriction, route.backend]) assert.ok(module);
  const { credentials } = await read<{ credentials: { acl: string[] }[] }>(baseUrl, '/credentials');
  assert.deepEqual(
    credentials.flatMap(({ acl }) => acl),
    ['bind:app.example.com'],
  );
  assert.equal(credentials.length, 2);
}

async function opened(commit: string) {
  const folder = await unpacked({ after }, commit);
  const dataDir = join(folder, 'data');
  const ca = await readFile(join(dataDir, 'internal-ca', 'domain-localhost', 'certificate.pem'));
  const ready = await startServerProcess({ after }, dataDir).ready();
  const { edge, tunnel } = ready.addresses as unknown as { edge: string; tunnel: string };
  return { folder, dataDir, ca, baseUrl: ready.base_url, edge, tunnel };
}

/** Opened by this version's server. */
const stores = new Map<string, Awaited<ReturnType<typeof opened>>>();
for (const commit of COMMITS) stores.set(commit, await opened(commit));
/** `npm test` restores only the newest one. */
const RESTORED = firstOf(COMMITS.toReversed());

function storeOf(commit: string): Awaited<ReturnType<typeof opened>> {
  return stores.get(commit) ?? assert.fail(commit);
}

for (const commit of COMMITS) {
  suite(`what commit ${commit} wrote`, () => {
    test('a data directory opens, with its secrets, its deliveries and its CAs', async (t) => {
      const { dataDir, ca, baseUrl } = storeOf(commit);
      await holdsEverything(baseUrl);
      type Deliveries = { event_deliveries: { state: string }[] };
      const { event_deliveries: deliveries } = await read<Deliveries>(baseUrl, '/event_deliveries');
      assert.deepEqual(
        deliveries.map(({ state }) => state),
        ['delivered'],
      );
      const printed = startPostern(t, { args: ['ca', 'print', '--data-dir', dataDir] });
      await printed.exited;
      const [now = ''] = /-----BEGIN[\s\S]*?-----END CERTIFICATE-----/.exec(printed.stdout()) ?? [];
      assert.equal(new X509Certificate(now).fingerprint256, new X509Certificate(ca).fingerprint256);
    });

    test('its agents’ token still opens a session', async (t) => {
      const { dataDir, tunnel } = storeOf(commit);
      const agent = startPostern(t, {
        args: ['http', '1', '--server-addr', tunnel, '--inspect=false'],
        env: { POSTERN_AUTHTOKEN: AUTHTOKEN, POSTERN_DATA_DIR: dataDir },
      });
      for (let tries = 0; tries < 200 && !agent.stdout().includes('online at'); tries += 1) {
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      assert.match(agent.stdout(), /online at/, agent.stderr());
    });

    if (!RESTORED.includes(commit)) return;
    test('a backup restores into an empty data directory', async (t) => {
      const { folder } = storeOf(commit);
      const dataDir = join(folder, 'restored');
      await mkdir(dataDir, { mode: 0o700 });
      await cp(join(folder, 'data', 'secret.key'), join(dataDir, 'secret.key'));
      const restore = startPostern(t, {
        args: ['store', 'restore', join(folder, 'previous.backup'), '--data-dir', dataDir],
      });
      assert.deepEqual(await restore.exited, { code: 0, signal: null }, restore.stderr());
      const { base_url: baseUrl } = await startServerProcess(t, dataDir).ready();
      await holdsEverything(baseUrl);
    });
  });
}

suite('cookies and agents of commit a61189e', () => {
  test('its cookie of a login in progress is accepted', async () => {
    const { folder } = storeOf('a61189e');
    const { flow, flowCookie } = JSON.parse(await readFile(join(folder, 'cookies.json'), 'utf8')) as Cookies;
    const keyring = loadKeyring({ dataDir: join(folder, 'data'), configured: null, mayCreate: false });
    const randomText = (): string => assert.fail('no cookie is made');
    const flows = new FlowCookies({
      seal: (purpose, text) => keyring.seal(text, `purpose/${purpose}`),
      open: (purpose, sealed) => keyring.open(sealed, `purpose/${purpose}`),
      randomText,
    });
    assert.deepEqual(flows.find([flowCookie], flow.state), flow);
  });

  test('its agent connects to this server and carries a request', async (t) => {
    const { folder, dataDir, edge, tunnel } = storeOf('a61189e');
    const service = createServer((_request, response) => response.end('served by the old agent')).listen(
      0,
      '127.0.0.1',
    );
    await once(service, 'listening');
    t.after(() => service.close());
    const ca = await readFile(join(dataDir, 'internal-ca', 'other', 'certificate.pem'), 'utf8');

    await symlink(NODE_MODULES, join(folder, 'agent', 'node_modules'));
    const { connect } = (await import(
      pathToFileURL(join(folder, 'agent', 'src', 'agent', 'index.ts')).href
    )) as typeof import('../../src/agent/index.ts');
    const { port } = service.address() as AddressInfo;
    const agent = await connect({
      serverAddr: tunnel,
      authtoken: AUTHTOKEN,
      ca,
      tunnels: [{ proto: 'https', addr: port, domain: 'old.localhost' }],
    });
    t.after(() => agent.close());

    const [host, edgePort] = edge.split(':');
    const sent = request({ host, port: edgePort, servername: 'old.localhost', rejectUnauthorized: false });
    sent.setHeader('host', 'old.localhost').end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    assert.equal(response.statusCode, 200);
    assert.equal(await text(response), 'served by the old agent');
  });
});
