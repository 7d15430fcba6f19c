// @peculiar/x509 requires this before it is loaded.
import 'reflect-metadata';
import assert from 'node:assert/strict';
import { KeyObject, webcrypto } from 'node:crypto';
import { suite, test } from 'node:test';
import {
  AuthorityKeyIdentifierExtension,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';
import { issuedCertificate, renewalId } from '../../src/proxy/acme/client/issued-certificate.ts';
import { KEY_ALGORITHM, SIGNATURE_ALGORITHM } from '../../src/proxy/pki/certificate-authority.ts';

const DAY_MS = 86_400_000;

/** A certificate for these names, with its key. */
async function issuedFor(names: readonly string[]): Promise<{ chainPem: string; privateKeyPem: string }> {
  const keys = await webcrypto.subtle.generateKey(KEY_ALGORITHM, true, ['sign', 'verify']);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber: '80ff',
    name: [{ CN: ['test'] }],
    notBefore: new Date(Date.now() - DAY_MS),
    notAfter: new Date(Date.now() + DAY_MS),
    keys,
    signingAlgorithm: SIGNATURE_ALGORITHM,
    extensions: [
      new SubjectAlternativeNameExtension(names.map((value) => ({ type: 'dns', value }))),
      await AuthorityKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  const privateKeyPem = KeyObject.from(keys.privateKey).export({ type: 'pkcs8', format: 'pem' }).toString();
  return { chainPem: certificate.toString('pem'), privateKeyPem };
}

suite('an issued certificate', () => {
  test('with thousands of names is read without the ASN.1 library, which takes seconds for it', async () => {
    const others = Array.from({ length: 8_000 }, (_, index) => `n${index}.example`);
    const { chainPem, privateKeyPem } = await issuedFor([...others, 'app.example.com']);
    const found = issuedCertificate(chainPem, { privateKeyPem, hostname: 'app.example.com', nowMs: Date.now() });
    // The contents of the INTEGER: positive, so with a zero byte.
    assert.equal(found.serialNumber, '0080ff');
    assert.match(renewalId(found.certificatePem) ?? '', /^[\w-]{27}\.AID_$/);
  });

  test('is used for exactly the name that was ordered', async () => {
    const { chainPem, privateKeyPem } = await issuedFor(['*.Example.com']);
    const read = (hostname: string) => issuedCertificate(chainPem, { privateKeyPem, hostname, nowMs: Date.now() });
    assert.equal(read('*.example.com').serialNumber, '0080ff');
    for (const hostname of ['app.example.com', 'example.com', 'test', '*.example.org']) {
      assert.throws(() => read(hostname), { name: 'AcmeFailure', message: /it is not for/ });
    }
  });

  test('that is over or of another key is rejected', async () => {
    const [one, other] = [await issuedFor(['a.example.com']), await issuedFor(['a.example.com'])];
    const order = { hostname: 'a.example.com', privateKeyPem: one.privateKeyPem, nowMs: Date.now() };
    assert.throws(() => issuedCertificate(one.chainPem, { ...order, nowMs: Date.now() + 2 * DAY_MS }), /it expired at/);
    assert.throws(() => issuedCertificate(other.chainPem, order), /not for the key of the order/);
  });
});
