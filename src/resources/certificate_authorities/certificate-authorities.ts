import Type from 'typebox';
import { certificatesIn, describeCertificate } from '../../lib/pki/describe-certificate.ts';
import { bodyProblem } from '../../lib/schema/decode-body.ts';
import { CRL_FETCH_KIND, CRL_KIND, CRL_MODES } from '../../revocation/authority-crl.ts';
import { type Creation, defineResource, describedFields, timestamp } from '../resource.ts';
import { checkCrl } from './check-crl.ts';
import { liveCrl } from './live-crl.ts';

/** With everything else below the API's limit of 1 MiB: about 11,000 entries. */
const MAX_UPLOAD_CHARACTERS = 524_288;

/** Authorities that verify client certificates. */
export const certificateAuthorities = defineResource({
  derivedKinds: [CRL_KIND, CRL_FETCH_KIND],
  name: 'certificate_authorities',
  kind: 'certificate_authority',
  idPrefix: 'ca',
  path: '/certificate_authorities',
  listKey: 'certificate_authorities',
  title: 'a certificate authority',
  description: 'A CA certificate against which the mutual TLS module verifies client certificates.',
  eventNoun: 'certificate_authority',
  config: Type.Object({
    ...describedFields,
    ca_pem: Type.String({
      minLength: 1,
      maxLength: 65_536,
      description:
        'One CA certificate in PEM format, such as the output of "openssl req -x509". It cannot be changed later.',
    }),
    crl_mode: Type.Enum([...CRL_MODES], {
      default: 'off',
      description:
        'Whether client certificates are checked against revocation lists: "off"; "soft", which rejects revoked certificates and accepts others even if a list is missing or stale; "hard", which then rejects all. Applies to every certificate below this authority, so each intermediate needs a list as well. Default: "off".',
    }),
    crl_pem: Type.String({
      default: '',
      maxLength: MAX_UPLOAD_CHARACTERS,
      description: `Revocation lists in PEM format ("X509 CRL"): the list of this authority, and those of its intermediates. At most ${MAX_UPLOAD_CHARACTERS} characters; publish a longer list at crl_url. Default: "".`,
    }),
    crl_url: Type.String({
      default: '',
      maxLength: 2048,
      description:
        'http or https URL of the complete revocation list of this authority, in DER format (at most 16 MiB) or PEM format (at most 4 MiB). It is fetched regularly, and before the list becomes stale. Redirects are not followed. If crl_pem has a list too, the newer one counts. Default: "".',
    }),
  }),
  immutable: ['ca_pem'],
  live: liveCrl,
  hasWarnings: true,
  check: checkCrl,
  derived: {
    subject_common_name: Type.String({
      description: "Common name of the certificate's subject.",
      examples: ['Example staff CA'],
    }),
    not_before: timestamp('When the certificate becomes valid.'),
    not_after: { ...timestamp('When the certificate expires.'), examples: ['2036-11-01T09:30:00.000Z'] },
    key_usages: Type.Array(Type.String(), {
      description: 'Key usages of the certificate.',
      examples: [['cert_sign', 'crl_sign']],
    }),
    extended_key_usages: Type.Array(Type.String(), {
      description: 'Extended key usages of the certificate.',
      examples: [[]],
    }),
  },
  example: { description: 'staff laptops', ca_pem: '-----BEGIN CERTIFICATE-----\n…\n-----END CERTIFICATE-----\n' },
  isRevocation: (config, previous) => config !== null && isStricter(config, previous),
  onCreate: (config) => describeAuthority(config.ca_pem),
});

interface RevocationList {
  readonly crl_mode: (typeof CRL_MODES)[number];
  readonly crl_pem: string;
  readonly crl_url: string;
}

/** Another list, or a stricter use of it: the way to revoke a client certificate. */
function isStricter(config: RevocationList, previous: RevocationList): boolean {
  const strictness = ({ crl_mode: mode }: RevocationList): number => ['off', 'soft', 'hard'].indexOf(mode);
  const isOtherList = config.crl_pem !== '' && config.crl_pem !== previous.crl_pem;
  const by = strictness(config) - strictness(previous);
  return config.crl_url === previous.crl_url && by >= 0 && (isOtherList || by > 0);
}

function describeAuthority(pem: string): Creation | { problems: ReturnType<typeof bodyProblem>[] } {
  const refuse = (message: string): { problems: ReturnType<typeof bodyProblem>[] } => ({
    problems: [bodyProblem('ca_pem', message)],
  });
  try {
    const [certificate, ...others] = certificatesIn(pem);
    if (certificate === undefined || others.length > 0)
      return refuse('must contain exactly one certificate: create one authority for each');
    const found = describeCertificate(certificate);
    if (!found.isCa) {
      return refuse(
        'is not a CA certificate (basicConstraints CA:TRUE is missing): send the certificate of the authority, not a certificate that it issued',
      );
    }
    return {
      derived: {
        subject_common_name: found.subject.commonName,
        not_before: found.notBefore,
        not_after: found.notAfter,
        key_usages: found.keyUsages,
        extended_key_usages: found.extendedKeyUsages,
      },
    };
  } catch (error) {
    return refuse(`is not a PEM certificate (${reason(error)})`);
  }
}

function reason(error: unknown): string {
  return error instanceof Error && /^its? /.test(error.message) ? error.message : 'it cannot be decoded';
}
