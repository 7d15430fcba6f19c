import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { cp, readdir, stat, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { connect, createServer } from 'node:tls';
import { promisify } from 'node:util';
import { tempDir } from '../../test/support/temp-dir.ts';
import { systemClock } from '../lib/clock.ts';
import { openCertificateAuthority } from './certificate-authority.ts';
import { type Leaf, openInternalCa } from './internal-ca.ts';

const run = promisify(execFile);

async function newCa(test: TestContext) {
  const dataDir = await tempDir(test);
  return { dataDir, ca: await openInternalCa({ dataDir, domain: 'apps.test', clock: systemClock }) };
}

async function opensslVerify(directory: string, caPem: string, leaf: Leaf, ...more: string[]): Promise<string> {
  await writeFile(join(directory, 'ca.pem'), caPem);
  await writeFile(join(directory, 'leaf.pem'), leaf.certificatePem);
  const args = ['verify', '-x509_strict', '-CAfile', join(directory, 'ca.pem'), ...more, join(directory, 'leaf.pem')];
  return run('openssl', args).then(
    ({ stdout }) => stdout,
    (error: { stderr: string; stdout: string }) => `${error.stdout}${error.stderr}`,
  );
}

describe('internal CA', () => {
  it('mints leaves that openssl accepts, for the domain from the constrained CA, else from the other', async (test) => {
    const { dataDir, ca } = await newCa(test);
    const inside = await ca.mintLeaf({ hosts: ['a.apps.test', 'apps.test'], ips: [], days: 90 });
    const outside = await ca.mintLeaf({ hosts: ['elsewhere.test'], ips: ['127.0.0.1', '::1'], days: 90 });
    assert.equal(inside.caPem, ca.domainCaPem);
    assert.equal(outside.caPem, ca.otherCaPem);
    assert.match(await opensslVerify(dataDir, ca.domainCaPem, inside, '-verify_hostname', 'a.apps.test'), /: OK/);
    assert.match(await opensslVerify(dataDir, ca.otherCaPem, outside, '-verify_ip', '::1'), /: OK/);
    assert.match(await opensslVerify(dataDir, ca.domainCaPem, outside), /verification failed/);
  });

  it('never vouches for client certificates', async (test) => {
    const { dataDir, ca } = await newCa(test);
    const leaf = await ca.mintLeaf({ hosts: ['a.apps.test'], ips: [], days: 90 });
    assert.match(await opensslVerify(dataDir, ca.domainCaPem, leaf, '-purpose', 'sslclient'), /verification failed/);
  });

  for (const [hosts, ips] of [
    [['elsewhere.test'], []],
    [['notapps.test'], []],
    [['a.apps.test'], ['10.0.0.1']],
  ] as const) {
    it(`is not believed for ${[...hosts, ...ips].join(' ')} when the constrained key signs it all the same`, async (test) => {
      const dataDir = await tempDir(test);
      // The same CA directory opened as if its domain were another: its key then signs what its certificate forbids.
      const real = await openInternalCa({ dataDir, domain: 'apps.test', clock: systemClock });
      const stolen = join(dataDir, 'internal-ca', 'other');
      await cp(join(dataDir, 'internal-ca', 'domain-apps.test'), stolen, { recursive: true, force: true });
      const thief = await openInternalCa({ dataDir, domain: 'nobody.test', clock: systemClock });
      const leaf = await thief.mintLeaf({ hosts, ips, days: 1 });
      assert.equal(leaf.caPem, real.domainCaPem);
      assert.match(await opensslVerify(dataDir, real.domainCaPem, leaf), /(permitted|excluded) subtree violation/);
    });
  }

  it('serves TLS that a Node client trusts with the CA alone', async (test) => {
    const { ca } = await newCa(test);
    const leaf = await ca.mintLeaf({ hosts: ['localhost'], ips: ['127.0.0.1'], days: 90 });
    const server = createServer({ cert: leaf.certificatePem, key: leaf.privateKeyPem }, (socket) => socket.end());
    test.after(() => server.close());
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const client = connect({ host: '127.0.0.1', port, ca: leaf.caPem });
    await once(client, 'secureConnect');
    assert.equal(client.authorized, true);
    client.destroy();
  });

  it('is made once: a second opening, also at the same time, gives the same CA; the key is 0600', async (test) => {
    const directory = join(await tempDir(test), 'ca', 'other');
    const request = { directory, commonName: 'x', domain: null, nowMs: Date.now() };
    const first = await openCertificateAuthority(request);
    const again = await openCertificateAuthority(request);
    assert.equal(again.certificatePem, first.certificatePem);
    assert.equal((await stat(join(directory, 'key.pem'))).mode & 0o777, 0o600);
    assert.deepEqual(await readdir(join(directory, '..')), ['other']);
  });

  it('says what to do when its files are damaged', async (test) => {
    const { dataDir } = await newCa(test);
    await writeFile(join(dataDir, 'internal-ca', 'other', 'key.pem'), 'broken');
    await assert.rejects(
      openInternalCa({ dataDir, domain: 'apps.test', clock: systemClock }),
      /internal-ca.other cannot be read/,
    );
  });
});
