import { createPrivateKey, type KeyObject } from 'node:crypto';
import Type, { type Static } from 'typebox';
import type { JsonObject } from '../../../kit/json.ts';
import {
  type CertificateDescription,
  certificatesIn,
  describeCertificate,
} from '../../../kit/pki/describe-certificate.ts';
import { secret } from '../../../kit/schema/annotations.ts';
import { bodyProblem } from '../../../kit/schema/decode-body.ts';
import type { FieldProblem } from '../../../kit/schema/field-problem.ts';
import { defineResource, describedFields, timestamp } from '../resource.ts';
import { readAllowedFile } from './certificate-files.ts';

const schema = Type.Object({
  ...describedFields,
  certificate_pem: Type.String({
    default: '',
    maxLength: 262_144,
    description:
      'The certificate chain in PEM format: the certificate of the host, then the intermediates. PATCH it together with private_key_pem to renew it under the same id.',
  }),
  private_key_pem: secret(
    'write_only',
    Type.String({
      default: '',
      maxLength: 65_536,
      description:
        'The unencrypted private key of the first certificate, in PEM format. Encrypted at rest and never returned.',
    }),
    'nowhere',
  ),
  certificate_file: Type.String({
    default: '',
    maxLength: 4096,
    description:
      'Absolute path of a file on the server with the chain, instead of certificate_pem. The server reads it again when it changes. Its directory must be in the setting certificate_file_dirs.',
  }),
  private_key_file: Type.String({
    default: '',
    maxLength: 4096,
    description: 'Absolute path of a file on the server with the private key, instead of private_key_pem.',
  }),
});

/** Certificates that the edge presents for hosts. */
export const tlsCertificates = defineResource({
  name: 'tls_certificates',
  kind: 'tls_certificate',
  idPrefix: 'cert',
  path: '/tls_certificates',
  listKey: 'tls_certificates',
  title: 'a TLS certificate',
  description: 'A certificate with its private key. The edge presents it for the hosts that it names.',
  eventNoun: 'tls_certificate',
  config: schema,
  derived: {
    subject_common_name: Type.String({
      description: 'Common name of the subject.',
      examples: ['shop.example.com'],
    }),
    subject_alternative_names: Type.Object(
      {
        dns_names: Type.Array(Type.String(), { description: 'Host names.', examples: [['shop.example.com']] }),
        ips: Type.Array(Type.String(), { description: 'Addresses.', examples: [[]] }),
      },
      { description: 'Names and addresses that the certificate is valid for.' },
    ),
    issued_at: timestamp('When the certificate was issued.'),
    not_before: timestamp('When the certificate becomes valid.'),
    not_after: { ...timestamp('When the certificate expires.'), examples: ['2027-01-30T09:30:00.000Z'] },
    key_usages: Type.Array(Type.String(), {
      description: 'Key usages of the certificate.',
      examples: [['digital_signature']],
    }),
    extended_key_usages: Type.Array(Type.String(), {
      description: 'Extended key usages of the certificate.',
      examples: [['server_auth']],
    }),
    private_key_type: Type.String({ description: 'Type of the key, such as "rsa" or "ecdsa".', examples: ['ecdsa'] }),
    issuer_common_name: Type.String({ description: 'Common name of the issuer.', examples: ['Example CA'] }),
    serial_number: Type.String({ description: 'Serial number in lowercase hexadecimal.', examples: ['04d2a8e1'] }),
    subject_organization: Type.String({ description: 'Organization of the subject.', examples: ['Example Ltd'] }),
    subject_organizational_unit: Type.String({ description: 'Organizational unit of the subject.' }),
    subject_locality: Type.String({ description: 'Locality of the subject.' }),
    subject_province: Type.String({ description: 'State or province of the subject.' }),
    subject_country: Type.String({ description: 'Country of the subject.' }),
  },
  example: {
    certificate_pem: '-----BEGIN CERTIFICATE-----\n…\n-----END CERTIFICATE-----\n',
    private_key_pem: '-----BEGIN PRIVATE KEY-----\n…\n-----END PRIVATE KEY-----\n',
  },
  check: ({ certificate_pem: pem, private_key_pem: key, certificate_file: file, private_key_file: keyFile }) => {
    if ((file === '') !== (keyFile === ''))
      return [bodyProblem(file === '' ? 'certificate_file' : 'private_key_file', 'is missing: name both files')];
    if (file !== '') return [];
    const missing = pem === '' ? 'certificate_pem' : key === '' ? 'private_key_pem' : null;
    return missing === null ? [] : [bodyProblem(missing, 'is required, or certificate_file with private_key_file')];
  },
  onCreate: (config, { settings }) => withFiles(config, null, settings.certificateFileDirs),
  onChange: (config, previous, settings) => withFiles(config, previous, settings.certificateFileDirs),
});

type Problems = { readonly problems: readonly FieldProblem[] };
type Computed = { readonly derived: JsonObject; readonly config?: JsonObject };

const TEXT_WITH_FILES =
  'cannot be sent together with certificate_file and private_key_file, whose contents count: send either the text or the files';

/** The text of a certificate with files is what was read last. */
function withFiles(
  config: Static<typeof schema>,
  previous: Static<typeof schema> | null,
  directories: readonly string[],
): Computed | Problems {
  const { certificate_pem: pem, private_key_pem: key, certificate_file: file, private_key_file: keyFile } = config;
  const isSame = previous !== null && pem === previous.certificate_pem && key === previous.private_key_pem;
  if (file === '') return isSame ? { derived: {} } : describeTlsCertificate(pem, key);
  const areFilesSame = previous?.certificate_file === file && previous.private_key_file === keyFile;
  if (isSame && areFilesSame) return { derived: {} };
  // The server writes what it read. A client may replace the text too, until the files change.
  if (areFilesSame && previous !== null) return describeTlsCertificate(pem, key);
  const sent = pem !== (previous?.certificate_pem ?? '') ? 'certificate_pem' : 'private_key_pem';
  if (!isSame && (previous !== null || pem !== '' || key !== '')) return refuse(sent, TEXT_WITH_FILES);
  const chain = readAllowedFile(file, directories);
  if (!chain.ok) return refuse('certificate_file', chain.message);
  const secretText = readAllowedFile(keyFile, directories);
  if (!secretText.ok) return refuse('private_key_file', secretText.message);
  const described = describeTlsCertificate(chain.text, secretText.text);
  if ('problems' in described) return inFiles(described);
  return { ...described, config: { certificate_pem: chain.text, private_key_pem: secretText.text } };
}

function inFiles({ problems }: Problems): Problems {
  return { problems: problems.map((problem) => ({ ...problem, path: problem.path.replace(/_pem$/, '_file') })) };
}

function describeTlsCertificate(
  chainPem: string,
  keyPem: string,
): { readonly derived: JsonObject } | { readonly problems: readonly FieldProblem[] } {
  const chain = readChain(chainPem);
  if ('problems' in chain) return chain;
  const key = readKey(keyPem);
  if (key === null) {
    return refuse(
      'private_key_pem',
      'is not a PEM private key: send it unencrypted, starting with "-----BEGIN PRIVATE KEY-----"',
    );
  }
  if (!chain.leaf.checkPrivateKey(key)) {
    return refuse(
      'private_key_pem',
      'does not match the first certificate of certificate_pem: send the private key of that certificate, in the same request',
    );
  }
  return { derived: derivedFields(chain.description) };
}

interface Chain {
  readonly leaf: ReturnType<typeof certificatesIn>[number];
  readonly description: CertificateDescription;
}

function readChain(pem: string): Chain | { problems: readonly FieldProblem[] } {
  try {
    const [leaf, ...intermediates] = certificatesIn(pem);
    if (leaf === undefined) return refuse('certificate_pem', 'contains no certificate');
    let below = leaf;
    for (const above of intermediates) {
      if (!below.checkIssued(above)) {
        return refuse('certificate_pem', 'is out of order: each certificate must be issued by the next one');
      }
      below = above;
    }
    return { leaf, description: describeCertificate(leaf) };
  } catch (error) {
    const reason = error instanceof Error && /^its? /.test(error.message) ? ` (${error.message})` : '';
    return refuse('certificate_pem', `is not a PEM certificate chain${reason}`);
  }
}

function readKey(pem: string): KeyObject | null {
  try {
    return createPrivateKey(pem);
  } catch {
    // The decoder's message could quote the text, which is a secret: the caller states what is expected instead.
    return null;
  }
}

function derivedFields(found: CertificateDescription): JsonObject {
  return {
    subject_common_name: found.subject.commonName,
    subject_alternative_names: { dns_names: found.dnsNames, ips: found.ips },
    issued_at: found.notBefore,
    not_before: found.notBefore,
    not_after: found.notAfter,
    key_usages: found.keyUsages,
    extended_key_usages: found.extendedKeyUsages,
    private_key_type: found.keyType === 'ec' ? 'ecdsa' : found.keyType,
    issuer_common_name: found.issuerCommonName,
    serial_number: found.serialNumber,
    subject_organization: found.subject.organization,
    subject_organizational_unit: found.subject.organizationalUnit,
    subject_locality: found.subject.locality,
    subject_province: found.subject.province,
    subject_country: found.subject.country,
  };
}

function refuse(field: string, message: string): { problems: readonly FieldProblem[] } {
  return { problems: [bodyProblem(field, message)] };
}
