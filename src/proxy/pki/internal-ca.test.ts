import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { connect, createServer } from 'node:tls';
import { promisify } from 'node:util';
import { memoryRecords, openInternalCa } from '../../../test/support/internal-ca.ts';
import { tempDir } from '../../../test/support/temp-dir.ts';
import { systemClock } from '../../kit/clock.ts';
import type { LeafCertificate } from './internal-ca.ts';

const run = promisify(execFile);

async function newCa(t: TestContext) {
  const dataDir = await tempDir(t);
  const records = memoryRecords();
  const ca = await openInternalCa({ dataDir, domain: 'apps.test', clock: systemClock, records });
  return { dataDir, records, ca };
}

async function opensslVerify(
  directory: string,
  caPem: string,
  leaf: LeafCertificate,
  ...more: string[]
): Promise<string> {
  await writeFile(join(directory, 'ca.pem'), caPem);
  await writeFile(join(directory, 'leaf.pem'), leaf.certificatePem);
  const args = ['verify', '-x509_strict', '-CAfile', join(directory, 'ca.pem'), ...more, join(directory, 'leaf.pem')];
  return run('openssl', args).then(
    ({ stdout }) => stdout,
    (error: { stderr: string; stdout: string }) => `${error.stdout}${error.stderr}`,
  );
}

suite('internal CA', () => {
  test('issues leaves that openssl accepts, for the domain from the constrained CA, otherwise from the other', async (t) => {
    const { dataDir, ca } = await newCa(t);
    const inside = await ca.mintLeaf({ hosts: ['a.apps.test', 'apps.test'], ips: [], days: 90 });
    const outside = await ca.mintLeaf({ hosts: ['elsewhere.test'], ips: ['127.0.0.1', '::1'], days: 90 });
    assert.equal(inside.caPem, ca.domainCaPem);
    assert.equal(outside.caPem, ca.otherCaPem);
    assert.match(await opensslVerify(dataDir, ca.domainCaPem, inside, '-verify_hostname', 'a.apps.test'), /: OK/);
    assert.match(await opensslVerify(dataDir, ca.otherCaPem, outside, '-verify_ip', '::1'), /: OK/);
    assert.match(await opensslVerify(dataDir, ca.domainCaPem, outside), /verification failed/);
  });

  test('never issues client certificates', async (t) => {
    const { dataDir, ca } = await newCa(t);
    const leaf = await ca.mintLeaf({ hosts: ['a.apps.test'], ips: [], days: 90 });
    assert.match(await opensslVerify(dataDir, ca.domainCaPem, leaf, '-purpose', 'sslclient'), /verification failed/);
  });

  for (const [hosts, ips] of [
    [['elsewhere.test'], []],
    [['notapps.test'], []],
    [['a.apps.test'], ['10.0.0.1']],
  ] as const) {
    test(`is not trusted for ${[...hosts, ...ips].join(' ')} even when the constrained key signs it`, async (t) => {
      const dataDir = await tempDir(t);
      // The same CA opened with another domain: its key then signs names that its certificate forbids.
      const records = memoryRecords();
      const real = await openInternalCa({ dataDir, domain: 'apps.test', clock: systemClock, records });
      const stolen = records.get('domain-apps.test');
      assert.ok(stolen !== null);
      records.pairs.set('other', stolen);
      const thief = await openInternalCa({ dataDir, domain: 'nobody.test', clock: systemClock, records });
      const leaf = await thief.mintLeaf({ hosts, ips, days: 1 });
      assert.equal(leaf.caPem, real.domainCaPem);
      assert.match(await opensslVerify(dataDir, real.domainCaPem, leaf), /(permitted|excluded) subtree violation/);
    });
  }

  test('serves TLS that a Node client trusts with the CA alone', async (t) => {
    const { ca } = await newCa(t);
    const leaf = await ca.mintLeaf({ hosts: ['localhost'], ips: ['127.0.0.1'], days: 90 });
    const server = createServer({ cert: leaf.certificatePem, key: leaf.privateKeyPem }, (socket) => socket.end());
    t.after(() => server.close());
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const client = connect({ host: '127.0.0.1', port, ca: leaf.caPem });
    await once(client, 'secureConnect');
    assert.equal(client.authorized, true);
    client.destroy();
  });

  test('is created once: concurrent and later openers get the same CA', async (t) => {
    const records = memoryRecords();
    const open = async () =>
      openInternalCa({ dataDir: await tempDir(t), domain: 'apps.test', clock: systemClock, records });
    const all = [...(await Promise.all([open(), open(), open()])), await open()];
    assert.equal(new Set(all.map(({ domainCaPem, otherCaPem }) => domainCaPem + otherCaPem)).size, 1);
  });

  test('publishes its certificate in the data directory, and no key', async (t) => {
    const { dataDir, ca } = await newCa(t);
    const folder = join(dataDir, 'internal-ca', 'other');
    assert.deepEqual(await readdir(folder), ['certificate.pem']);
    assert.equal(await readFile(join(folder, 'certificate.pem'), 'utf8'), ca.otherCaPem);
    assert.equal((await stat(join(folder, 'certificate.pem'))).mode & 0o777, 0o644);
  });

  test('publishes its certificate in the data directory of a node that did not create it', async (t) => {
    const { records, ca } = await newCa(t);
    const dataDir = await tempDir(t);
    // A public copy from before, without a key, is replaced.
    await mkdir(join(dataDir, 'internal-ca', 'other'), { recursive: true });
    await writeFile(join(dataDir, 'internal-ca', 'other', 'certificate.pem'), 'old');
    await openInternalCa({ dataDir, domain: 'apps.test', clock: systemClock, records });
    for (const [name, pem] of [
      ['domain-apps.test', ca.domainCaPem],
      ['other', ca.otherCaPem],
    ] as const) {
      const directory = join(dataDir, 'internal-ca', name);
      assert.equal(await readFile(join(directory, 'certificate.pem'), 'utf8'), pem);
      assert.deepEqual(await readdir(directory), ['certificate.pem']);
    }
  });
});
