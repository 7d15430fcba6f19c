import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { hostilePem } from '../../../test/support/hostile-pem.ts';
import { tempDir } from '../../../test/support/temp-dir.ts';
import { certificateBlocks } from '../../app/cli/agent/tunnel-specs.ts';
import { certificatesIn } from './describe-certificate.ts';
import { derOf, pemBlocks, scanPem } from './pem-blocks.ts';

function openssl(...args: string[]): string {
  return execFileSync('openssl', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
}

const EC_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256'];

/** A certificate with its key, as openssl writes them. */
async function made(t: TestContext): Promise<{ certificate: string; key: string; keyFile: string; file: string }> {
  const directory = await tempDir(t);
  const keyFile = join(directory, 'key.pem');
  const file = join(directory, 'certificate.pem');
  openssl('req', '-x509', '-nodes', '-subj', '/CN=made', ...EC_KEY, '-keyout', keyFile, '-out', file);
  return { certificate: openssl('x509', '-in', file), key: openssl('pkey', '-in', keyFile), keyFile, file };
}

suite('PEM blocks', () => {
  test('finds certificates as openssl and other tools write them', async (t) => {
    const { certificate, file } = await made(t);
    const der = new X509Certificate(certificate).raw;
    const described = openssl('x509', '-in', file, '-text');
    const chain = `Server certificate\n---\nCertificate chain\n 0 s:CN = made\n   i:CN = made\n${certificate}---\n`;
    const texts: readonly (readonly [string, string, number])[] = [
      ['plain', certificate, 1],
      ['without the last line ending', certificate.trimEnd(), 1],
      ['with the description of x509 -text before it', described, 1],
      ['between the lines of s_client -showcerts', chain + chain, 2],
      ['with CRLF', certificate.replaceAll('\n', '\r\n'), 1],
      ['with white space at the ends of lines', certificate.replaceAll('\n', ' \t\n'), 1],
      ['with white space around it', `\n\n${certificate}\n \n`, 1],
      ['with an empty line after the first', certificate.replace('-----\n', '-----\n\n'), 1],
      ['after a byte order mark', `\ufeff${certificate}`, 1],
      ['on one line', certificate.replaceAll(/(?<=[^-])\n(?=[^-])/g, ''), 1],
      ['several', certificate.repeat(3), 3],
      ['bag attributes of pkcs12', `Bag Attributes\n    localKeyID: 01 02 \n${certificate}`, 1],
    ];
    for (const [what, text, count] of texts) {
      const found = certificatesIn(text);
      assert.equal(found.length, count, what);
      assert.ok(
        found.every(({ raw }) => raw.equals(der)),
        what,
      );
      assert.equal(certificateBlocks(text)?.length, count, what);
    }
  });

  test('finds keys of every form, and leaves them out where certificates are read', async (t) => {
    const { certificate, key, keyFile } = await made(t);
    const keys: readonly (readonly [string, string])[] = [
      ['PRIVATE KEY', key],
      ['EC PRIVATE KEY', openssl('ec', '-in', keyFile)],
      ['RSA PRIVATE KEY', openssl('genrsa', '-traditional', '1024')],
      ['PRIVATE KEY', openssl('genpkey', '-algorithm', 'ed25519')],
      ['ENCRYPTED PRIVATE KEY', openssl('pkcs8', '-topk8', '-in', keyFile, '-passout', 'pass:x')],
    ];
    for (const [label, text] of keys) {
      const [block, ...others] = pemBlocks(text);
      assert.ok(block !== undefined && others.length === 0);
      assert.equal(block.label, label);
      assert.equal(derOf(block)[0], 0x30);
      assert.deepEqual(certificateBlocks(text + certificate), [certificate]);
      assert.throws(() => certificatesIn(certificate + text), { message: /only CERTIFICATE blocks are allowed/ });
    }
    const legacy = openssl('ec', '-in', keyFile, '-aes128', '-passout', 'pass:word');
    assert.match(legacy, /^DEK-Info/m);
    assert.deepEqual(certificateBlocks(legacy + certificate), [certificate]);
  });

  test('rejects what is not a whole block of base64', async (t) => {
    const { certificate } = await made(t);
    const wrong: readonly (readonly [string, RegExp])[] = [
      ['', /no PEM block/],
      ['word', /no PEM block/],
      [certificate.replace(/-----END.*\n/, ''), /does not end/],
      [certificate.replace('-----END CERTIFICATE', '-----END X'), /does not end/],
      [certificate.replace('-----END', 'x-----END'), /does not end/],
      [certificate.replace('-----BEGIN', ' -----BEGIN'), /not on a line of its own/],
      [certificate.replace('CERTIFICATE-----', 'CERTIFICATE----- x'), /not on a line of its own/],
      ['-----BEGIN -----\n-----END -----\n', /not on a line of its own/],
      ['-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n', /not base64/],
      [certificate.replace('-----\n', '-----\nProc-Type: 4,ENCRYPTED\n\n'), /not base64/],
      [certificate.replace('\nM', '\n!M'), /not base64/],
      [certificate.replace('\nM', '\n M'), /not base64/],
      [certificate.replace('\n-----END', '\n\n-----END'), /not base64/],
      [certificate.replace('\n-----END', 'A\n-----END'), /not base64/],
      [certificate.repeat(101), /more than 100 PEM blocks/],
      ['\n'.repeat(4 * 1024 * 1024 + 1), /more than \d+ characters/],
      ['\n'.repeat(200_000), /more than 131072 lines/],
      [hostilePem(10_000), /not base64/],
      ['-----BEGIN A-----\n'.repeat(60_000), /does not end/],
    ];
    for (const [text, message] of wrong) {
      assert.throws(() => certificatesIn(text), { message }, JSON.stringify(text.slice(0, 80)));
    }
  });

  test('pauses while it reads a long text', () => {
    const scanning = scanPem('\n'.repeat(100_000));
    let pauses = 0;
    while (scanning.next().done !== true) pauses += 1;
    assert.ok(pauses > 90, `${pauses}`);
  });
});
