// @peculiar/x509 requires this before it is loaded.
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  Pkcs10CertificateRequest,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';
import type { Clock } from '../../../src/kit/clock.ts';
import { KEY_ALGORITHM, newSerialNumber, SIGNATURE_ALGORITHM } from '../../../src/proxy/pki/certificate-authority.ts';

export interface FakeIssuer {
  /** A chain in PEM for the request's key. */
  issue(request: Buffer, hostname: string, lifeSeconds: number): Promise<string>;
}

/** Signs what the fake ACME server accepted. */
export async function openFakeIssuer(clock: Clock): Promise<FakeIssuer> {
  const keys = await webcrypto.subtle.generateKey(KEY_ALGORITHM, true, ['sign', 'verify']);
  const root = await X509CertificateGenerator.createSelfSigned({
    serialNumber: newSerialNumber(),
    name: [{ CN: ['Fake ACME root'] }],
    notBefore: new Date(0),
    notAfter: new Date('2099-01-01T00:00:00Z'),
    keys,
    signingAlgorithm: SIGNATURE_ALGORITHM,
    extensions: [
      new BasicConstraintsExtension(true, undefined, true),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return {
    issue: async (der, hostname, lifeSeconds) => {
      const request = new Pkcs10CertificateRequest(der);
      if (!(await request.verify())) throw new Error('the certificate request is not signed by its key');
      const asked =
        (
          request.extensions.find(({ type }) => type === '2.5.29.17') as SubjectAlternativeNameExtension | undefined
        )?.names.toJSON() ?? [];
      if (asked.length !== 1 || asked[0]?.value !== hostname) throw new Error('the request is for another name');
      const nowMs = clock.nowMs();
      const certificate = await X509CertificateGenerator.create({
        serialNumber: newSerialNumber(),
        subject: [{ CN: ['fake'] }],
        issuer: root.subject,
        notBefore: new Date(nowMs),
        notAfter: new Date(nowMs + lifeSeconds * 1000),
        publicKey: request.publicKey,
        signingKey: keys.privateKey,
        signingAlgorithm: SIGNATURE_ALGORITHM,
        extensions: [
          new SubjectAlternativeNameExtension([{ type: 'dns', value: hostname }]),
          await AuthorityKeyIdentifierExtension.create(keys.publicKey),
        ],
      });
      return `${certificate.toString('pem')}\n${root.toString('pem')}\n`;
    },
  };
}
