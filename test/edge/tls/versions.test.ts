import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import type { ConnectionOptions } from 'node:tls';
import { promisify } from 'node:util';
import { tempDir } from '../../support/temp-dir.ts';
import { issue } from './test-authority.ts';
import { exchange, openTlsWorld } from './tls-world.ts';

async function open(t: TestContext) {
  const world = await openTlsWorld(t);
  world.setEdge('usual.localhost');
  world.setEdge('modern.localhost', { minVersion: 'TLSv1.3' });
  return world;
}

suite('TLS versions and ciphers', () => {
  for (const [host, version, isServed] of [
    ['usual.localhost', 'TLSv1.2', true],
    ['usual.localhost', 'TLSv1.3', true],
    ['modern.localhost', 'TLSv1.2', false],
    ['modern.localhost', 'TLSv1.3', true],
  ] as const) {
    test(`${host} ${isServed ? 'serves' : 'refuses'} ${version}`, async (t) => {
      const world = await open(t);
      const client = world.connect(host, { minVersion: version, maxVersion: version });
      const { answer, error } = await exchange(client, host);
      if (isServed) {
        assert.match(answer, /200/);
        assert.equal(world.handshakes[0]?.version, version);
        return;
      }
      assert.equal(answer, '');
      assert.match(error ?? '', /alert protocol version/);
      assert.deepEqual(await world.failed(1), ['protocol_version']);
    });
  }

  test('applies a changed minimum version to the next connection, and does not affect other hosts', async (t) => {
    const world = await open(t);
    const old: ConnectionOptions = { maxVersion: 'TLSv1.2' };
    world.setEdge('modern.localhost');
    assert.match((await exchange(world.connect('modern.localhost', old), 'modern.localhost')).answer, /200/);
    world.setEdge('modern.localhost', { minVersion: 'TLSv1.3' });
    assert.equal((await exchange(world.connect('modern.localhost', old), 'modern.localhost')).answer, '');
    assert.match((await exchange(world.connect('usual.localhost', old), 'usual.localhost')).answer, /200/);
  });

  for (const [what, options] of [
    ['TLS 1.1', { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT:@SECLEVEL=0' }],
    ['a cipher without forward secrecy', { maxVersion: 'TLSv1.2', ciphers: 'AES128-GCM-SHA256' }],
    ['a cipher without authenticated encryption', { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-SHA256' }],
  ] as const satisfies readonly (readonly [string, ConnectionOptions])[]) {
    test(`rejects ${what}`, async (t) => {
      const world = await open(t);
      await once(world.connect('usual.localhost', options), 'error');
      assert.match((await world.failed(1)).join(), /^(protocol_version|no_shared_cipher)$/);
    });
  }
});

suite('curl with a client certificate', () => {
  test('is admitted over HTTP/2, and gets nothing without', async (t) => {
    const world = await open(t);
    const authority = await issue({ commonName: 'authority', isCa: true });
    const client = await issue({ commonName: 'client', usages: ['client'], issuer: authority });
    world.setEdge('locked.localhost', { clientAuthorities: [authority.certificatePem] });
    const directory = await tempDir(t);
    const [ca, cert, key] = ['ca.pem', 'cert.pem', 'key.pem'].map((name) => join(directory, name)) as [
      string,
      string,
      string,
    ];
    await writeFile(ca, world.ca.domainCaPem);
    await writeFile(cert, client.certificatePem);
    await writeFile(key, client.keyPem);
    const url = `https://locked.localhost:${world.port}/`;
    const args = ['-sS', '--noproxy', '*', '--http2', '--cacert', ca];
    const { stdout } = await promisify(execFile)('curl', [...args, '--cert', cert, '--key', key, url]);
    assert.match(stdout, /^h2 locked\.localhost/);
    await assert.rejects(promisify(execFile)('curl', [...args, '-i', url]), { stdout: '' });
    assert.deepEqual(await world.failed(1), ['client_certificate_missing']);
  });
});
