import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { cp, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startPostern, startServerProcess } from '../support/server-process.ts';
import { tempDir } from '../support/temp-dir.ts';

/**
 * Written by commit 8841b8c: a data directory that its server closed, and a backup of it. It has an edge with a route,
 * four modules, a secret, a policy, a subscription with a delivered event, internal CAs in files, and these two first
 * secrets.
 */
const FIXTURE = fileURLToPath(new URL('./fixtures/previous-version.tar.gz', import.meta.url));
const API_KEY = 'previous-version-test-api-key-0123456789';
const AUTHTOKEN = 'previous-version-test-authtoken-0123456789';

interface Edge {
  readonly hostports: readonly string[];
  readonly routes: readonly [
    { oidc: { client_secret: string }; compression: object; ip_restriction: object; backend: object },
  ];
}

async function unpacked(t: TestContext): Promise<string> {
  const folder = await tempDir(t);
  execFileSync('tar', ['-xzf', FIXTURE, '-C', folder, '--no-same-owner']);
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

suite('data written by the previous version', () => {
  test('a data directory opens, with its secrets, its deliveries and its CAs', async (t) => {
    const dataDir = join(await unpacked(t), 'data');
    const path = join(dataDir, 'internal-ca', 'domain-localhost', 'certificate.pem');
    const before = new X509Certificate(await readFile(path)).fingerprint256;
    const { base_url: baseUrl } = await startServerProcess(t, dataDir).ready();
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
    assert.equal(new X509Certificate(now).fingerprint256, before);
  });

  test('its agents’ token still opens a session', async (t) => {
    const dataDir = join(await unpacked(t), 'data');
    const server = await startServerProcess(t, dataDir).ready();
    const address = (server.addresses as unknown as { tunnel: string }).tunnel;
    const agent = startPostern(t, {
      args: ['http', '1', '--server-addr', address, '--inspect=false'],
      env: { POSTERN_AUTHTOKEN: AUTHTOKEN, POSTERN_DATA_DIR: dataDir },
    });
    for (let tries = 0; tries < 200 && !agent.stdout().includes('online at'); tries += 1) {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    assert.match(agent.stdout(), /online at/, agent.stderr());
  });

  test('a backup restores into an empty data directory', async (t) => {
    const folder = await unpacked(t);
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
