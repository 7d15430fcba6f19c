import { X509Certificate } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import Type from 'typebox';
import type { JsonObject } from '../../../kit/json.ts';
import { fieldsOf, ListProblem } from '../../../kit/pki/certificate-extensions.ts';
import { certificatesIn, describeCertificate } from '../../../kit/pki/describe-certificate.ts';
import { listsInPem } from '../../../kit/pki/read-revocation-lists.ts';
import { isNewer, isSupported, type RevocationList } from '../../../kit/pki/revocation-list.ts';
import { bodyProblem } from '../../../kit/schema/decode-body.ts';
import type { FieldProblem } from '../../../kit/schema/field-problem.ts';
import {
  CRL_FETCH_KIND,
  CRL_KIND,
  CRL_MODES,
  CRL_STATUSES,
  type CrlMode,
  crlFetchId,
  crlId,
  crlStatus,
  crlUrlOf,
  hasIssuerName,
  isIssuedBy,
  NO_CRL_SIGN,
  stateFor,
} from '../../../modules/authority-crl.ts';
import type { RecordReader } from '../../../store/replica/record-table.ts';
import type { StoredRecord } from '../../../store/store.ts';
import type { ReadingPorts, SharedPorts } from '../ports.ts';
import { type Creation, defineResource, describedFields, type LiveFields, timestamp } from '../resource.ts';

interface CrlConfig {
  readonly ca_pem: string;
  readonly crl_mode: CrlMode;
  readonly crl_pem: string;
  readonly crl_url: string;
}

/** Problems of the fields about revocation. The certificate itself is checked on create. */
function checkCrl({ ca_pem: caPem, crl_mode: mode, crl_pem: pem, crl_url: url }: CrlConfig): FieldProblem[] {
  const problems: FieldProblem[] = [];
  if (mode === 'hard' && pem === '' && url === '') {
    problems.push(
      bodyProblem('crl_mode', 'is "hard", which rejects every client without a list: send crl_pem or crl_url too'),
    );
  }
  const ofUrl = urlProblem(url);
  if (ofUrl !== null) problems.push(bodyProblem('crl_url', ofUrl));
  const ofPem = pem === '' ? null : uploadProblem(pem, caPem);
  if (ofPem !== null) problems.push(bodyProblem('crl_pem', ofPem));
  return problems;
}

function urlProblem(text: string): string | null {
  if (text === '') return null;
  const form = 'must be an absolute http:// or https:// URL without user and fragment';
  if (!URL.canParse(text)) return form;
  const { protocol, username, password, hash } = new URL(text);
  const isPlain = username === '' && password === '' && hash === '';
  return isPlain && /^https?:$/.test(protocol) ? null : form;
}

function uploadProblem(pem: string, caPem: string): string | null {
  const authority = certificateIn(caPem);
  // Reported for ca_pem.
  if (authority === null) return null;
  try {
    return listsProblem(listsInPem(pem), authority);
  } catch (error) {
    if (error instanceof ListProblem) return error.message;
    throw error;
  }
}

/** Lists of intermediates are checked in the handshake: only there is their issuer known. */
function listsProblem(lists: readonly RevocationList[], authority: X509Certificate): string | null {
  const complete = lists.filter(({ isDelta }) => !isDelta);
  if (complete.length === 0) return 'contains only delta lists: send the complete list';
  const own = complete.filter((list) => hasIssuerName(list, authority));
  if (own.length === 0) {
    return 'contains no list of this authority: send the list that this authority issued, and those of its intermediates in the same text';
  }
  if (own.some(({ signature }) => !isSupported(signature))) {
    return 'is signed with an algorithm that is not supported: use SHA-256 or better with RSA or ECDSA, or EdDSA';
  }
  if (!fieldsOf(authority).maySignLists) return NO_CRL_SIGN;
  return own.every((list) => isIssuedBy(list, authority)) ? null : 'has a signature that is not from this authority';
}

function certificateIn(pem: string): X509Certificate | null {
  try {
    return new X509Certificate(pem);
  } catch {
    return null;
  }
}

export type CrlPorts = ReadingPorts & Pick<SharedPorts, 'clock'>;

const orNull = (schema: Type.TSchema, description: string): Type.TSchema =>
  Type.Union([schema, Type.Null()], { description });

/** State of the revocation list in use, uploaded or fetched. */
const liveCrl: LiveFields<CrlPorts> = {
  schema: {
    crl_status: Type.Enum([...CRL_STATUSES], {
      description:
        'State of the newest revocation list of this authority: "current", "stale" (its next update is overdue), "not_yet_valid" or "missing"; "off" if crl_mode is "off".',
    }),
    crl_updated_at: orNull(
      timestamp('When the list was issued.'),
      'When the newest list was issued (thisUpdate); null without a list.',
    ),
    crl_next_update: orNull(
      timestamp('When the list becomes stale.'),
      'When the next list is due and this one becomes stale (nextUpdate); null without a list.',
    ),
    crl_number: orNull(Type.String(), 'Number of the list, in decimal; null if it has none.'),
    crl_entry_count: Type.Integer({ description: 'How many certificates the list revokes.' }),
    crl_fetched_at: orNull(
      timestamp('When crl_url last responded.'),
      'When crl_url last responded with a usable list; null if it never did.',
    ),
    crl_error: orNull(
      Type.String(),
      'Why the last request to crl_url failed; null if it succeeded. The list in use stays in use.',
    ),
  },
  read: (records, { documents, clock }) =>
    Promise.resolve(new Map(records.map((record) => [record.id, crlFields(record, documents.reader, clock.nowMs())]))),
};

export function crlFields({ id, doc }: StoredRecord, reader: RecordReader, nowMs: number): JsonObject {
  const { status, list } = crlStatus(doc, reader.get(CRL_KIND, crlId(id))?.doc, nowMs);
  const fetching = stateFor(reader.get(CRL_FETCH_KIND, crlFetchId(id))?.doc, crlUrlOf(doc));
  return {
    crl_status: status,
    crl_updated_at: list?.this_update ?? null,
    crl_next_update: list?.next_update ?? null,
    crl_number: list?.number ?? null,
    crl_entry_count: list?.entry_count ?? 0,
    crl_fetched_at: fetching.fetchedAt,
    crl_error: fetching.error,
  };
}

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
  narrowable: ['crl_mode', 'crl_pem'],
  isRevocation: (config, previous) => config !== null && isStricter(config, previous),
  onCreate: (config) => describeAuthority(config.ca_pem),
});

/** More revoked certificates, or a stricter use of the lists: the way to revoke a client certificate. */
function isStricter(config: CrlConfig, previous: CrlConfig): boolean {
  const strictness = ({ crl_mode: mode }: CrlConfig): number => CRL_MODES.indexOf(mode);
  const by = strictness(config) - strictness(previous);
  if (config.crl_pem === previous.crl_pem) return by > 0;
  // Without a list, "hard" rejects everybody.
  const isFirst = previous.crl_pem === '' && previous.crl_mode === 'hard';
  return by >= 0 && !isFirst && revokesMore(config, previous);
}

function revokesMore({ crl_pem: pem, ca_pem: authority }: CrlConfig, { crl_pem: previous }: CrlConfig): boolean {
  try {
    const [lists, before] = [pem, previous].map((text) => (text === '' ? [] : listsInPem(text)));
    return isFurther(lists ?? [], before ?? [], new X509Certificate(authority));
  } catch (error) {
    if (error instanceof ListProblem) return false;
    throw error;
  }
}

/**
 * Whether every certificate that the earlier lists revoke stays revoked. The signatures of this authority's own lists
 * have been checked. A list of an intermediate may have any, and would be ignored: it does not replace an earlier one.
 */
function isFurther(
  lists: readonly RevocationList[],
  earlier: readonly RevocationList[],
  authority: X509Certificate,
): boolean {
  const isIn = (some: readonly RevocationList[], { digest }: RevocationList): boolean =>
    some.some((each) => each.digest === digest);
  const added = lists.filter((list) => !isIn(earlier, list));
  const isKept = added.every((list) =>
    earlier.every((other) => !list.issuer.equals(other.issuer) || revokesAllOf(list, other)),
  );
  const isReplaced = (list: RevocationList): boolean =>
    hasIssuerName(list, authority) &&
    added.some((other) => hasIssuerName(other, authority) && isNewer(other, list) && revokesAllOf(other, list));
  return added.length > 0 && isKept && earlier.every((list) => isIn(lists, list) || isReplaced(list));
}

/** Whether a list revokes every certificate that another one revokes, as far as both are complete. */
function revokesAllOf(list: RevocationList, other: RevocationList): boolean {
  return (
    list.isDelta === other.isDelta &&
    list.covers === other.covers &&
    isDeepStrictEqual(list.distributionPoints, other.distributionPoints) &&
    other.serials.isWithin(list.serials)
  );
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
