import { type HeaderList, headerText } from '../../kit/http/header-values.ts';
import type { JsonObject } from '../../kit/json.ts';
import { authorityCertificate, CRL_KIND, crlId, crlModeOf, crlUrlOf, uploadedLists } from '../authority-crl.ts';
import type { ClientCertificate, Pass, Refusal, RevocationPolicy } from '../contract/decides.ts';
import type { Preparation, PreparePorts } from '../contract/prepare.ts';
import type { CrlRuntime } from './crl-runtime.ts';
import { revocationPolicy } from './revocation-policy.ts';

const VALID: Pass = { isPass: true, reason: 'client_certificate' };

const NO_CERTIFICATE: Refusal = {
  status: 421,
  code: 'ERR_POSTERN_CLIENT_CERTIFICATE',
  message:
    'This site requires a client certificate, and this connection has none that it accepts. Reconnect with a valid certificate.',
  reason: 'client_certificate',
};

/**
 * The handshake requires and verifies the certificate. Each request checks only what can change under an open
 * connection: the certificate's dates. (Changed authorities and revocation lists end connections in the TLS layer.)
 */
export function demandCertificates(authorityIds: readonly string[], ports: PreparePorts<CrlRuntime>): Preparation {
  const authorities: string[] = [];
  const records: AuthorityRecord[] = [];
  for (const id of authorityIds) {
    const doc = ports.record('certificate_authority', id);
    const pem = doc?.['ca_pem'];
    if (doc === undefined || typeof pem !== 'string') {
      return {
        ok: false,
        problem: {
          code: 'ERR_POSTERN_MODULE_UNAVAILABLE',
          message: `the certificate authority ${id} of the mutual_tls module does not exist: replace the module`,
        },
        // Certificates of the other authorities are not accepted either: nobody knows whether all were meant to be.
        tls: { clientAuthorities: [] },
      };
    }
    authorities.push(pem);
    records.push({ id, doc });
  }
  const revocation = revocationOf(records, ports);
  return {
    ok: true,
    prepared: {
      tls: { clientAuthorities: authorities, ...(revocation !== undefined && { revocation }) },
      judge: ({ clientCertificate, nowMs }) => {
        const isValid =
          clientCertificate !== null && clientCertificate.notBeforeMs <= nowMs && nowMs < clientCertificate.notAfterMs;
        return isValid ? VALID : NO_CERTIFICATE;
      },
      upstreamHeaders: ({ clientCertificate }) =>
        clientCertificate === null ? NONE : standingHeaders(clientCertificate),
    },
  };
}

interface AuthorityRecord {
  readonly id: string;
  readonly doc: JsonObject;
}

/** Undefined where nothing is to be checked, or no traffic is served. */
function revocationOf(
  records: readonly AuthorityRecord[],
  ports: PreparePorts<CrlRuntime>,
): RevocationPolicy | undefined {
  const { runtime } = ports;
  if (runtime === null || records.every(({ doc }) => crlModeOf(doc) === 'off')) return undefined;
  const authorities = records.map(({ id, doc }) => {
    // Read even if the runtime has not parsed it yet: so the edge depends on it.
    const hasFetched = crlUrlOf(doc) !== '' && ports.record(CRL_KIND, crlId(id)) !== undefined;
    const lists = [...uploadedLists(doc), ...(hasFetched ? runtime.fetchedLists(id) : [])];
    return { id, mode: crlModeOf(doc), certificate: authorityCertificate(doc), lists };
  });
  return revocationPolicy(authorities, runtime.clock.nowMs());
}

const NONE: HeaderList = [];
/** A connection has one certificate, and may carry many requests. */
const MADE = new WeakMap<ClientCertificate, HeaderList>();

function standingHeaders(certificate: ClientCertificate): HeaderList {
  let headers = MADE.get(certificate);
  if (headers === undefined) {
    headers = identityHeaders(certificate);
    MADE.set(certificate, headers);
  }
  return headers;
}

/** RFC 9440 §2.2 (a structured-field byte sequence), and readable ones: their owners chose the names. */
function identityHeaders(certificate: ClientCertificate): HeaderList {
  return [
    'client-cert',
    `:${certificate.der.toString('base64')}:`,
    'postern-mtls-subject-cn',
    headerText(certificate.subjectCommonName),
    'postern-mtls-issuer-cn',
    headerText(certificate.issuerCommonName),
    'postern-mtls-serial',
    certificate.serialNumber,
    'postern-mtls-fingerprint-sha256',
    certificate.fingerprint256,
    'postern-mtls-subject-alt-names',
    headerText(certificate.subjectAltNames),
  ];
}
