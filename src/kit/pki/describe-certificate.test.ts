import 'reflect-metadata';
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { rootCertificates } from 'node:tls';
import { BasicConstraintsExtension, X509Certificate as LibraryCertificate } from '@peculiar/x509';
import { issue } from '../../../test/edge/tls/test-authority.ts';
import { tempDir } from '../../../test/support/temp-dir.ts';
import { element } from '../../../test/support/test-crl.ts';
import { DerProblem } from './der-cursor.ts';
import { certificatesIn, countElements, describeCertificate } from './describe-certificate.ts';

const directory = await tempDir({ after });

/** A self-signed certificate as openssl makes it, with its section of settings. */
function made(subject: string, { settings = '', extensions = '', serial = '0x12' } = {}): string {
  const file = join(directory, 'openssl.cnf');
  writeFileSync(file, `[req]\ndistinguished_name=d\nx509_extensions=e\n${settings}\n[d]\n[e]\n${extensions}\n`);
  const key = ['-nodes', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-keyout', join(directory, 'key')];
  const request = ['req', '-x509', '-utf8', '-config', file, '-subj', subject, '-set_serial', serial, ...key];
  return execFileSync('openssl', request, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
}

function described(pem: string) {
  return describeCertificate(certificatesIn(pem)[0] as X509Certificate);
}

suite('description of a certificate', () => {
  test('has the names, addresses, usages and fields of the subject', () => {
    const { notBefore, notAfter, ...found } = described(
      made('/C=AT/ST=Wien/L=Ünder/O=Ö und Co/OU=a/OU=b/CN=x/CN=y/serialNumber=12', {
        serial: '0x80ff12',
        extensions: [
          'subjectAltName=DNS:a.test,IP:1.2.3.4,IP:2001:db8::1,IP:::1,IP:fe80:0:0:1::5,IP:1:0:0:4:5:0:0:8,email:a@b.c',
          'keyUsage=digitalSignature,keyAgreement,decipherOnly',
          'extendedKeyUsage=serverAuth,1.3.6.1.4.1.311.20.2.2,anyExtendedKeyUsage',
          'basicConstraints=critical,CA:true,pathlen:1',
        ].join('\n'),
      }),
    );
    assert.deepEqual(found, {
      isCa: true,
      subject: {
        commonName: 'x',
        organization: 'Ö und Co',
        organizationalUnit: 'a',
        locality: 'Ünder',
        province: 'Wien',
        country: 'AT',
      },
      issuerCommonName: 'x',
      serialNumber: '80ff12',
      keyUsages: ['digital_signature', 'key_agreement', 'decipher_only'],
      extendedKeyUsages: ['server_auth', '1.3.6.1.4.1.311.20.2.2', 'any'],
      dnsNames: ['a.test'],
      ips: ['1.2.3.4', '2001:db8::1', '::1', 'fe80:0:0:1::5', '1::4:5:0:0:8'],
      keyType: 'ec',
    });
    assert.ok(Date.parse(notBefore) < Date.parse(notAfter));
  });

  test('reads every kind of text, and a certificate with nothing in it', () => {
    // ASN1_STRING types by OpenSSL's mask: T61String, BMPString, UniversalString, UTF8String.
    for (const mask of ['0x4', '0x800', '0x100', '0x2000']) {
      const { subject } = described(made('/CN=Ünder/O=plain', { settings: `string_mask=MASK:${mask}` }));
      assert.equal(subject.commonName, 'Ünder', mask);
      assert.equal(subject.organization, 'plain', mask);
    }
    const bare = described(made('/'));
    assert.deepEqual(
      [bare.isCa, bare.subject.commonName, bare.dnsNames, bare.keyUsages, bare.extendedKeyUsages],
      [false, '', [], [], []],
    );
    assert.equal(described(made('/CN=leaf', { extensions: 'basicConstraints=CA:false' })).isCa, false);
  });

  test('agrees with the ASN.1 library about public authorities', () => {
    assert.ok(rootCertificates.length > 100);
    for (const pem of rootCertificates) {
      const found = described(pem);
      const library = new LibraryCertificate(new X509Certificate(pem).raw);
      assert.equal(found.subject.commonName, library.subjectName.getField('CN')[0] ?? '');
      assert.equal(found.subject.organizationalUnit, library.subjectName.getField('OU')[0] ?? '');
      assert.equal(found.serialNumber, library.serialNumber);
      assert.equal(found.notAfter, library.notAfter.toISOString());
      assert.equal(found.isCa, library.getExtension(BasicConstraintsExtension)?.ca ?? false);
    }
  });

  test('accepts thousands of names, and no number of elements that would take long', () => {
    const names = (count: number): string =>
      `subjectAltName=@n\n[n]\n${Array.from({ length: count }, (_, at) => `DNS.${at}=${at}.test`).join('\n')}`;
    const many = made('/CN=x', { extensions: names(4000) });
    assert.equal(described(many).dnsNames.length, 4000);
    assert.throws(() => certificatesIn(many.repeat(3)), { message: /^it has more than 10000 names/ });
    const usage = `extendedKeyUsage=${Array.from({ length: 10_000 }, (_, at) => `1.2.3.${at}`).join(',')}`;
    assert.throws(() => certificatesIn(made('/CN=x', { extensions: usage })), { message: /^it has more than/ });
  });
});

test('TLS connections work after a certificate was read', async () => {
  const { certificatePem } = await issue({ commonName: 'x', dnsNames: ['x'], usages: ['server'] });
  const program = `
    const { X509Certificate } = await import('node:crypto');
    const { legacyCertificate } = await import(${JSON.stringify(import.meta.resolve('./describe-certificate.ts'))});
    console.log(legacyCertificate(new X509Certificate(process.env.PEM)).subject.CN);
    const { connect } = await import('node:tls');
    connect({ host: '127.0.0.1', port: 1 }).on('error', ({ code }) => console.log(code));
  `;
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', program], {
    env: { ...process.env, PEM: certificatePem },
    encoding: 'utf8',
  });
  assert.equal(output, 'x\nECONNREFUSED\n');
});

suite('number of DER elements', () => {
  const NULL = Buffer.from([0x05, 0x00]);

  test('counts every depth, and what octet strings contain', () => {
    const inner = element(0x30, Buffer.concat([NULL, NULL]));
    const whole = element(0x30, Buffer.concat([element(0x04, inner), inner, element(0x04, Buffer.from('text'))]));
    assert.equal(countElements(whole, 100), 9);
    assert.equal(countElements(whole, 5), 6, 'stops above the limit');
  });

  test('takes an octet string as it is when it contains something else', () => {
    const octets = element(0x04, Buffer.from([0x30, 0x02, 0x05, 0x04]));
    // The NULL is behind the octet string, which cannot hide it.
    assert.equal(countElements(element(0x30, Buffer.concat([octets, NULL, NULL])), 100), 5);
  });

  test('rejects what is not DER', () => {
    assert.throws(() => countElements(Buffer.from([0x30, 0x80, 0x00, 0x00]), 100), DerProblem);
    assert.throws(() => countElements(Buffer.from([0x30, 0x02, 0x05]), 100), DerProblem);
  });

  test('needs no stack for nested elements', () => {
    let nested: Buffer = NULL;
    for (let depth = 0; depth < 8000; depth += 1) nested = element(0x30, nested);
    assert.equal(countElements(nested, 100_000), 8001);
  });
});
