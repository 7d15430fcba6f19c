import type { Static } from 'typebox';
import Type from 'typebox';
import type { JsonObject } from '../../kit/json.ts';
import { certificatesIn, describeCertificate } from '../../kit/pki/describe-certificate.ts';
import { idString, reference } from '../../kit/schema/annotations.ts';
import { bodyProblem } from '../../kit/schema/decode-body.ts';
import type { FieldProblem } from '../../kit/schema/field-problem.ts';
import { CRL_FETCH_KIND, CRL_KIND } from '../authority-crl.ts';
import type { AcceptedForm, AgentForm } from '../contract/agent-form.ts';
import { defineModule, enabledField } from '../contract/module.ts';
import { AUTHORITY_KIND, CrlRuntime } from './crl-runtime.ts';
import { demandCertificates } from './demand-certificates.ts';
import { mutualTlsErrors } from './errors.ts';
import { mutualTlsSettings } from './settings.ts';

const MAX_AUTHORITIES = 10;

/** Each text may contain several certificates. */
function agentAuthorities(form: JsonObject, endpointId: string): AcceptedForm | { readonly problem: string } {
  // The server has decoded the form by its schema.
  const { ca_pems: pems } = form as Static<typeof mutualTlsAgentSchema>;
  const certificates = readAll(pems);
  if (certificates === null) {
    return { problem: 'a CA certificate cannot be parsed: use PEM certificates only' };
  }
  if (certificates.length === 0 || certificates.length > MAX_AUTHORITIES) {
    return { problem: `must have 1 to ${MAX_AUTHORITIES} CA certificates` };
  }
  if (certificates.some(({ isCa }) => !isCa)) {
    return {
      problem:
        'a certificate is not a CA certificate (basicConstraints CA:TRUE is missing): use the certificate of the CA, not one that it issued',
    };
  }
  const records = certificates.map(({ pem }, at) => ({
    kind: 'certificate_authority',
    id: `${endpointId}.ca.${at}`,
    parent: null,
    doc: { ca_pem: pem },
  }));
  return { config: { enabled: true, certificate_authority_ids: records.map(({ id }) => id) }, records };
}

function readAll(pems: readonly string[]): readonly { readonly pem: string; readonly isCa: boolean }[] | null {
  try {
    return pems.flatMap((pem) =>
      certificatesIn(pem).map((certificate) => ({
        pem: certificate.toString(),
        isCa: describeCertificate(certificate).isCa,
      })),
    );
  } catch {
    return null;
  }
}

/** In the bind message: certificates instead of the authorities that an operator would refer to. */
const mutualTlsAgentSchema = Type.Object({
  ca_pems: Type.Array(Type.String({ maxLength: 16_384 }), {
    minItems: 1,
    maxItems: 10,
    description: 'CAs in PEM. Clients need a certificate that one of them issued.',
  }),
});

const mutualTlsAgentForm: AgentForm = {
  order: 3,
  group: 'entry',
  key: 'mutual_tls_cas',
  shape: 'list',
  protocols: ['https'],
  unsupportedReason: 'the server requests client certificates only where it terminates TLS',
  tlsReason: 'client certificates require TLS',
  fields: [
    {
      name: 'ca_pems',
      example: 'clients-ca.pem',
      isCertificateFile: true,
      flag: {
        name: 'mutual-tls-ca',
        hint: 'FILE',
        description: 'PEM file with CAs. Require a client certificate issued by one of them.',
      },
    },
  ],
  helpExample: '--mutual-tls-ca clients-ca.pem',
  summary: ["clients' certificates"],
};

const mutualTlsConfig = Type.Object({
  enabled: enabledField,
  certificate_authority_ids: reference(
    { kinds: ['certificate_authority'], readAs: 'certificate_authorities' },
    Type.Array(idString('Id of a certificate authority.'), {
      default: [],
      maxItems: MAX_AUTHORITIES,
      description: `Ids of 1 to ${MAX_AUTHORITIES} distinct certificate authorities against which client certificates are verified. May be empty only while "enabled" is false.`,
    }),
  ),
});

/** Admits only clients with a certificate of one of these authorities. */
export const mutualTls = defineModule({
  name: 'mutual_tls',
  on: ['handshakes'],
  decidesAccess: true,
  readsPath: false,
  title: 'Mutual TLS module',
  description: 'Requires a client certificate issued by one of the listed certificate authorities.',
  config: mutualTlsConfig,
  example: { certificate_authority_ids: ['ca_2zXAMPLEauthorityOfTheDocsA'] },
  check,
  agent: { form: mutualTlsAgentForm, schema: mutualTlsAgentSchema, accept: agentAuthorities },
  reasons: { client_certificate: 'The client certificate is valid.' },
  errors: { title: 'Traffic: mutual TLS', rows: mutualTlsErrors.rows },
  // RFC 9440 has Client-Cert and Client-Cert-Chain; upstreams made for ngrok's edges trust its names.
  reservedHeaders: ['client-cert*', 'postern-mtls-*', 'ngrok-mtls-*'],
  settings: mutualTlsSettings,
  recordKinds: [CRL_KIND, CRL_FETCH_KIND],
  followedKinds: [AUTHORITY_KIND],
  createRuntime: (ports, settings) => CrlRuntime.open(ports, settings),
  prepare: (config, ports) => demandCertificates(config.certificate_authority_ids, ports),
});

function check(config: Type.Static<typeof mutualTlsConfig>): readonly FieldProblem[] {
  const ids = config.certificate_authority_ids;
  if (config.enabled && ids.length === 0) {
    return [
      bodyProblem(
        'certificate_authority_ids',
        `must list 1 to ${MAX_AUTHORITIES} certificate authorities while the module is enabled: create one with POST /certificate_authorities, or send "enabled": false`,
      ),
    ];
  }
  const repeated = ids.find((id, index) => ids.indexOf(id) !== index);
  if (repeated === undefined) return [];
  return [bodyProblem('certificate_authority_ids', `lists ${repeated} twice: list each certificate authority once`)];
}
