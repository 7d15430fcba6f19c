import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { promisify } from 'node:util';
import { firstOf, shareOfCases } from '../../support/share-of-cases.ts';
import { tempDir } from '../../support/temp-dir.ts';
import type { Issued } from '../tls/test-authority.ts';
import { presents, RevocationWorld } from './revocation-world.ts';

/** Lists that OpenSSL wrote, judged by OpenSSL beside us, with curl and `openssl s_client` as clients. */
const folder = await tempDir({ after });
const world = await RevocationWorld.open({ after });
const run = (program: string, ...args: readonly string[]) =>
  promisify(execFile)(program, args, { cwd: folder, timeout: 60_000 });
const openssl = (...args: readonly string[]) => run('openssl', ...args);

const CONFIG = `[ca]
default_ca = d
[d]
database = index.txt
crlnumber = crlnumber
default_md = sha256
default_crl_days = 7
unique_subject = no
[numbered]
authorityKeyIdentifier = keyid
[partitioned]
issuingDistributionPoint = critical,@point
[point]
fullname = URI:http://crl.example.com/other.crl
[indirect]
issuingDistributionPoint = critical,@indirect_point
[indirect_point]
fullname = URI:http://crl.example.com/other.crl
indirectCRL = TRUE
`;
await writeFile(join(folder, 'ca.cnf'), CONFIG);
await writeFile(join(folder, 'trust.pem'), world.edge.ca.join('\n'));

async function authority(newkey: readonly string[]): Promise<string> {
  await writeFile(join(folder, 'index.txt'), '');
  await writeFile(join(folder, 'crlnumber'), '01\n');
  await openssl(
    'req',
    '-x509',
    ...newkey,
    '-nodes',
    '-days',
    '30',
    '-subj',
    '/CN=CA',
    '-keyout',
    'ca.key',
    '-out',
    'ca.pem',
  );
  for (const name of ['alice', 'bob']) {
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', `${name}.key`];
    await openssl('req', ...key, '-subj', `/CN=${name}`, '-out', `${name}.csr`);
    await openssl(
      'x509',
      '-req',
      '-in',
      `${name}.csr`,
      '-CA',
      'ca.pem',
      '-CAkey',
      'ca.key',
      '-CAcreateserial',
      '-days',
      '9',
      '-out',
      `${name}.pem`,
    );
  }
  return readFile(join(folder, 'ca.pem'), 'utf8');
}

const ca = (...args: readonly string[]) =>
  openssl('ca', '-config', 'ca.cnf', '-cert', 'ca.pem', '-keyfile', 'ca.key', ...args);

async function list(...args: readonly string[]): Promise<string> {
  await ca('-gencrl', '-out', 'list.pem', ...args);
  return readFile(join(folder, 'list.pem'), 'utf8');
}

async function clientOf(name: string): Promise<Issued> {
  const [certificatePem, keyPem] = await Promise.all(
    [`${name}.pem`, `${name}.key`].map((file) => readFile(join(folder, file), 'utf8')),
  );
  return { certificatePem, keyPem } as Issued;
}

/** What OpenSSL says about a certificate and the current list. */
async function verdict(name: string): Promise<'good' | 'revoked'> {
  const args = ['verify', '-CAfile', 'ca.pem', '-crl_check', '-CRLfile', 'list.pem', `${name}.pem`];
  return openssl(...args).then(
    () => 'good',
    (error: { stderr?: string }) => {
      assert.match(error.stderr ?? '', /revoked/);
      return 'revoked';
    },
  );
}

const KEYS: Readonly<Record<string, readonly string[]>> = {
  'ECDSA with P-256': ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256'],
  RSA: ['-newkey', 'rsa:2048'],
  'ECDSA with P-384 and SHA-384': ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-384', '-sha384'],
  'RSA-PSS': ['-newkey', 'rsa-pss', '-pkeyopt', 'rsa_keygen_bits:2048'],
  Ed25519: ['-newkey', 'ed25519'],
};

suite('lists of OpenSSL', () => {
  for (const [name, newkey] of firstOf(Object.entries(KEYS), 2)) {
    test(`signed with ${name}: the same verdicts as OpenSSL`, async () => {
      const id = await world.authority({ certificatePem: await authority(newkey) } as Issued);
      await world.require(id);
      const md = name === 'Ed25519' ? ['-md', 'null'] : name.includes('384') ? ['-md', 'sha384'] : [];
      await world.patch(id, { crl_pem: await list(...md), crl_mode: 'hard' });
      assert.equal(await verdict('alice'), 'good');
      assert.equal(await world.outcome(presents(await clientOf('alice'))), 'admitted');
      await ca('-revoke', 'alice.pem', '-crl_reason', 'keyCompromise');
      await world.patch(id, { crl_pem: await list(...md, '-crlexts', 'numbered') });
      assert.deepEqual([await verdict('alice'), await verdict('bob')], ['revoked', 'good']);
      assert.equal(await world.outcome(presents(await clientOf('alice'))), 'client_certificate_revoked');
      assert.equal(await world.outcome(presents(await clientOf('bob'))), 'admitted');
      assert.equal((await world.read(id))['crl_entry_count'], 1);
    });
  }

  test('an indirect list is rejected, and one of another distribution point covers nobody', async () => {
    const certificatePem = await authority(KEYS['ECDSA with P-256'] as readonly string[]);
    const issued = { certificatePem } as Issued;
    const refused = await world.edge.world.api('POST', '/certificate_authorities', {
      ca_pem: certificatePem,
      crl_pem: await list('-crlexts', 'indirect'),
    });
    assert.equal(refused.status, 400);
    assert.match(refused.text, /indirect list/);
    const id = await world.authority(issued, { crl_pem: await list('-crlexts', 'partitioned'), crl_mode: 'hard' });
    await world.require(id);
    assert.equal(await world.outcome(presents(await clientOf('alice'))), 'client_certificate_revocation_unknown');
    await assert.rejects(openssl('verify', '-CAfile', 'ca.pem', '-crl_check', '-CRLfile', 'list.pem', 'alice.pem'));
  });

  test('curl and openssl s_client: bob gets a response, alice not one byte', async () => {
    const id = await world.authority({
      certificatePem: await authority(KEYS['ECDSA with P-256'] as readonly string[]),
    } as Issued);
    await ca('-revoke', 'alice.pem');
    await world.patch(id, { crl_pem: await list(), crl_mode: 'hard' });
    await world.require(id);
    const { host } = world.site;
    const { port } = world.edge;
    for (const [at, version] of ['1.2', '1.3'].entries()) {
      for (const http of shareOfCases(['--http1.1', '--http2'], at, 2)) {
        const curl = (name: string) =>
          run(
            'curl',
            '-sS',
            http,
            '--tlsv1.2',
            '--tls-max',
            version,
            '--cacert',
            'trust.pem',
            '--cert',
            `${name}.pem`,
            '--key',
            `${name}.key`,
            '--resolve',
            `${host}:${port}:127.0.0.1`,
            `https://${host}:${port}/`,
          );
        assert.equal((await curl('bob')).stdout, 'hello');
        await assert.rejects(curl('alice'), (error: { stdout?: string }) => error.stdout === '');
      }
      const asked = async (name: string): Promise<string> => {
        const client = `printf 'GET / HTTP/1.1\\r\\nHost: ${host}\\r\\nConnection: close\\r\\n\\r\\n' | timeout 20 openssl s_client -quiet -ign_eof -tls${version.replace('.', '_')} -connect 127.0.0.1:${port} -servername ${host} -CAfile trust.pem -cert ${name}.pem -key ${name}.key 2>/dev/null || true`;
        return (await run('sh', '-c', client)).stdout;
      };
      assert.match(await asked('bob'), /^HTTP\/1\.1 200/);
      assert.equal(await asked('alice'), '');
    }
  });
});
