// @peculiar/x509 requires this before it is loaded.
import 'reflect-metadata';
import assert from 'node:assert/strict';
import { webcrypto } from 'node:crypto';
import { suite, test } from 'node:test';
import { BasicConstraintsExtension, X509CertificateGenerator } from '@peculiar/x509';
import { judgeHandshake } from './client-certificate.ts';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const NOW_MS = Date.parse('2026-06-01T00:00:00Z');
const VALID = { notBefore: new Date(NOW_MS - 1000), notAfter: new Date(NOW_MS + 1000), signingAlgorithm: ALGORITHM };
type Pair = webcrypto.CryptoKeyPair;
const newPair = (): Promise<Pair> =>
  webcrypto.subtle.generateKey(ALGORITHM, false, ['sign', 'verify']) as Promise<Pair>;
const [root, other, leaf] = await Promise.all([newPair(), newPair(), newPair()]);

let serial = 0;
async function certificate(subject: string, issuer: string, key: Pair, issuerKey: Pair, isCa = true): Promise<string> {
  serial += 1;
  const made = await X509CertificateGenerator.create({
    ...VALID,
    serialNumber: serial.toString(16).padStart(4, '1'),
    subject: `CN=${subject}`,
    issuer: `CN=${issuer}`,
    publicKey: key.publicKey,
    signingKey: issuerKey.privateKey,
    extensions: [new BasicConstraintsExtension(isCa, undefined, true)],
  });
  return `${made.toString('pem')}\n`;
}

function verdict(authorities: readonly string[], presented: readonly string[]): string {
  const judged = judgeHandshake({ clientAuthorities: authorities } as never, presented.join(''), NOW_MS);
  return 'reason' in judged ? judged.text : 'accepted';
}

const anchor = await certificate('root', 'root', root, root);

suite('the certificate of a hypothetical client', () => {
  test('is accepted over intermediates in any order', async () => {
    const client = await certificate('leaf', 'intermediate', leaf, other, false);
    const intermediate = await certificate('intermediate', 'root', other, root);
    const unrelated = await certificate('unrelated', 'unrelated', leaf, leaf);
    assert.equal(verdict([anchor], [client, unrelated, intermediate]), 'accepted');
    assert.match(verdict([anchor], [client, unrelated]), /None of the certificate authorities/);
    assert.match(verdict([anchor], [await certificate('leaf', 'root', leaf, other, false)]), /None of the/);
  });

  // The check took 2.4 s for 8 of them, and would take years for 16: all of their orders were tried.
  test('is rejected at once when many certificates issue each other', async () => {
    const same = await Promise.all(Array.from({ length: 16 }, () => certificate('same', 'same', other, other)));
    assert.match(verdict([anchor], same), /None of the certificate authorities/);
  });
});
