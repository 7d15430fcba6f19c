import 'reflect-metadata';
import { X509Certificate as NodeCertificate } from 'node:crypto';
import {
  BasicConstraintsExtension,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  type Name,
  SubjectAlternativeNameExtension,
  X509Certificate,
} from '@peculiar/x509';
import { derOf, pemBlocks } from './pem-blocks.ts';

export interface CertificateDescription {
  readonly isCa: boolean;
  readonly subject: NameFields;
  readonly issuerCommonName: string;
  readonly notBefore: string;
  readonly notAfter: string;
  readonly serialNumber: string;
  readonly keyUsages: readonly string[];
  readonly extendedKeyUsages: readonly string[];
  readonly dnsNames: readonly string[];
  readonly ips: readonly string[];
  readonly keyType: string;
}

export interface NameFields {
  readonly commonName: string;
  readonly organization: string;
  readonly organizationalUnit: string;
  readonly locality: string;
  readonly province: string;
  readonly country: string;
}

const KEY_USAGE_NAMES: readonly (readonly [KeyUsageFlags, string])[] = [
  [KeyUsageFlags.digitalSignature, 'digital_signature'],
  [KeyUsageFlags.nonRepudiation, 'content_commitment'],
  [KeyUsageFlags.keyEncipherment, 'key_encipherment'],
  [KeyUsageFlags.dataEncipherment, 'data_encipherment'],
  [KeyUsageFlags.keyAgreement, 'key_agreement'],
  [KeyUsageFlags.keyCertSign, 'cert_sign'],
  [KeyUsageFlags.cRLSign, 'crl_sign'],
  [KeyUsageFlags.encipherOnly, 'encipher_only'],
  [KeyUsageFlags.decipherOnly, 'decipher_only'],
];

const EXTENDED_KEY_USAGE_NAMES: Readonly<Record<string, string>> = {
  '2.5.29.37.0': 'any',
  '1.3.6.1.5.5.7.3.1': 'server_auth',
  '1.3.6.1.5.5.7.3.2': 'client_auth',
  '1.3.6.1.5.5.7.3.3': 'code_signing',
  '1.3.6.1.5.5.7.3.4': 'email_protection',
  '1.3.6.1.5.5.7.3.8': 'time_stamping',
  '1.3.6.1.5.5.7.3.9': 'ocsp_signing',
};

/** Far above the length of any real chain. */
const MAX_CERTIFICATES = 100;

/** The certificates in a PEM text, in order. Throws when the text is empty or contains anything else. */
export function certificatesIn(pem: string): readonly NodeCertificate[] {
  const blocks = pemBlocks(pem, MAX_CERTIFICATES);
  if (blocks.length === 0) throw new Error('it contains no PEM block');
  const foreign = blocks.find(({ label }) => label !== 'CERTIFICATE')?.label.slice(0, 40);
  if (foreign !== undefined) throw new Error(`it contains a "${foreign}" block; only CERTIFICATE blocks are allowed`);
  return blocks.map((block) => new NodeCertificate(derOf(block)));
}

export function describeCertificate(certificate: NodeCertificate): CertificateDescription {
  const parsed = new X509Certificate(certificate.raw);
  const usages = parsed.getExtension(KeyUsagesExtension)?.usages ?? 0;
  const extended = parsed.getExtension(ExtendedKeyUsageExtension)?.usages ?? [];
  const names = parsed.getExtension(SubjectAlternativeNameExtension)?.names.toJSON() ?? [];
  return {
    isCa: parsed.getExtension(BasicConstraintsExtension)?.ca ?? false,
    subject: nameFields(parsed.subjectName),
    issuerCommonName: nameFields(parsed.issuerName).commonName,
    notBefore: parsed.notBefore.toISOString(),
    notAfter: parsed.notAfter.toISOString(),
    serialNumber: parsed.serialNumber.toLowerCase(),
    keyUsages: KEY_USAGE_NAMES.filter(([flag]) => (usages & flag) !== 0).map(([, name]) => name),
    extendedKeyUsages: extended.map((oid) => EXTENDED_KEY_USAGE_NAMES[String(oid)] ?? String(oid)),
    dnsNames: names.filter((name) => name.type === 'dns').map((name) => name.value),
    ips: names.filter((name) => name.type === 'ip').map((name) => name.value),
    keyType: certificate.publicKey.asymmetricKeyType ?? 'unknown',
  };
}

function nameFields(name: Name): NameFields {
  const first = (field: string): string => name.getField(field)[0] ?? '';
  return {
    commonName: first('CN'),
    organization: first('O'),
    organizationalUnit: first('OU'),
    locality: first('L'),
    province: first('ST'),
    country: first('C'),
  };
}
