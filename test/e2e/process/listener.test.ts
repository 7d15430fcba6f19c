import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { chown, readFile, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { get } from 'node:https';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { systemClock } from '../../../src/kit/clock.ts';
import { openInternalCa } from '../../support/internal-ca.ts';
import { startServerProcess } from '../../support/server-process.ts';
import { tempDir } from '../../support/temp-dir.ts';

/** A process that does not end must fail the test, not hang it. */
const TIMEOUT_MS = 240_000;

const NOBODY = 65_534;

function firstOpenPort(): number {
  return Number(readFileSync('/proc/sys/net/ipv4/ip_unprivileged_port_start', 'utf8'));
}

async function statusOverTls(url: string, ca: string): Promise<number | undefined> {
  const [response] = (await once(get(url, { ca, agent: false }), 'response')) as [IncomingMessage];
  response.resume();
  return response.statusCode;
}

suite('API listener', { timeout: TIMEOUT_MS }, () => {
  test('names the port that is in use and the setting to change', async (t) => {
    const holder = createServer();
    t.after(() => holder.close());
    await once(holder.listen(0, '127.0.0.1'), 'listening');
    const { port } = holder.address() as AddressInfo;
    const server = startServerProcess(t, await tempDir(t), { args: ['--api-listen', `127.0.0.1:${port}`] });
    assert.deepEqual(await server.exited, { code: 1, signal: null });
    assert.match(server.stderr(), new RegExp(`^postern: .*port ${port} is already in use.*POSTERN_API_LISTEN\\)\n$`));
  });

  test('names the capability and the unit for a port that only root may open', async (t) => {
    const isReserved = process.platform === 'linux' && firstOpenPort() > 443;
    if (!isReserved || process.getuid?.() !== 0)
      return t.skip('port 443 is not reserved for root here, or we are not root');
    const dataDir = await tempDir(t);
    await chown(dataDir, NOBODY, NOBODY);
    const server = startServerProcess(t, dataDir, {
      args: ['--edge-listen', '127.0.0.1:443'],
      env: { NODE_COMPILE_CACHE: '', HOME: dataDir },
      uid: NOBODY,
      gid: NOBODY,
    });
    assert.deepEqual(await server.exited, { code: 1, signal: null });
    const message =
      /cannot listen on 127\.0\.0\.1:443: .*CAP_NET_BIND_SERVICE.*"postern service install".*POSTERN_EDGE_LISTEN/;
    assert.match(server.stderr(), message);
  });

  test('names an address that is not ours', async (t) => {
    const args = ['--api-listen', '192.0.2.1:0', '--api-tls-cert', 'internal'];
    const server = startServerProcess(t, await tempDir(t), { args });
    assert.equal((await server.exited).code, 1);
    assert.match(server.stderr(), /^postern: .*192\.0\.2\.1 does not belong to this machine.*POSTERN_API_LISTEN/);
  });

  test('serves TLS with a certificate of the internal CA, also on all addresses', async (t) => {
    const dataDir = await tempDir(t);
    const server = startServerProcess(t, dataDir, {
      args: ['--api-listen', '0.0.0.0:0', '--api-tls-cert', 'internal'],
    });
    const { base_url } = await server.ready();
    assert.match(base_url, /^https:\/\/localhost:\d+$/);
    const ca = await readFile(join(dataDir, 'internal-ca', 'other', 'certificate.pem'), 'utf8');
    const byAddress = base_url.replace('localhost', '127.0.0.1');
    assert.equal(await statusOverTls(`${byAddress}/healthz`, ca), 200);
    await assert.rejects(statusOverTls(`${byAddress}/healthz`, await foreignCa(await tempDir(t))), /certificate/);
  });

  test('serves TLS with files under api_url, and rejects files that do not match', async (t) => {
    const dataDir = await tempDir(t);
    const ca = await openInternalCa({ dataDir, domain: 'localhost', clock: systemClock });
    const mint = () => ca.mintLeaf({ hosts: ['localhost'], ips: ['127.0.0.1'], days: 1 });
    const [leaf, other] = [await mint(), await mint()];
    const paths = {
      cert: join(dataDir, 'cert.pem'),
      key: join(dataDir, 'key.pem'),
      otherKey: join(dataDir, 'other.pem'),
    };
    await writeFile(paths.cert, leaf.certificatePem);
    await writeFile(paths.key, leaf.privateKeyPem);
    await writeFile(paths.otherKey, other.privateKeyPem);
    const server = startServerProcess(t, join(dataDir, 'a'), {
      args: [
        '--api-tls-cert',
        paths.cert,
        '--api-tls-key',
        paths.key,
        '--api-url',
        'https://api.example.test/postern/',
      ],
    });
    const { addresses, base_url } = await server.ready();
    assert.equal(base_url, 'https://api.example.test/postern', 'api_url without its slash is the prefix of every uri');
    assert.equal(await statusOverTls(`https://${addresses.api}/healthz`, leaf.caPem), 200);
    const wrong = startServerProcess(t, join(dataDir, 'b'), {
      args: ['--api-tls-cert', paths.cert, '--api-tls-key', paths.otherKey],
    });
    assert.equal((await wrong.exited).code, 1);
    assert.match(wrong.stderr(), /^postern: api_tls_cert .*cannot be used: /);
  });
});

async function foreignCa(dataDir: string): Promise<string> {
  return (await openInternalCa({ dataDir, domain: 'localhost', clock: systemClock })).otherCaPem;
}
