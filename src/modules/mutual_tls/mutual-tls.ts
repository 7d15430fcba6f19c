import Type from 'typebox';
import { idString, reference } from '../../lib/schema/annotations.ts';
import { bodyProblem } from '../../lib/schema/decode-body.ts';
import type { FieldProblem } from '../../lib/schema/field-problem.ts';
import { CRL_FETCH_KIND, CRL_KIND } from '../../revocation/authority-crl.ts';
import { defineModule, enabledField } from '../contract/module.ts';
import { agentAuthorities } from './agent-authorities.ts';
import { mutualTlsAgentForm, mutualTlsAgentSchema } from './agent-form.ts';
import { demandCertificates } from './demand-certificates.ts';
import { mutualTlsErrors } from './errors.ts';
import { AUTHORITY_KIND, CrlRuntime } from './revocation/crl-runtime.ts';
import { mutualTlsSettings } from './settings.ts';

const MAX_AUTHORITIES = 10;

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
  level: 'edge',
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
