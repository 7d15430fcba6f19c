import Type from 'typebox';
import { hostNameProblem, lowerCaseHost } from '../../lib/host-name.ts';
import { reference } from '../../lib/schema/annotations.ts';
import { bodyProblem } from '../../lib/schema/decode-body.ts';
import { defineResource, describedFields, timestamp } from '../resource.ts';
import { domainActions } from './domain-actions.ts';

/** Selects the certificate of a host. Edges need no reservation. */
export const reservedDomains = defineResource({
  name: 'reserved_domains',
  kind: 'reserved_domain',
  idPrefix: 'rd',
  path: '/reserved_domains',
  listKey: 'reserved_domains',
  title: 'a reserved domain',
  description: 'A host and the source of its certificate. Edges do not require a reservation.',
  eventNoun: 'domain',
  config: Type.Object({
    ...describedFields,
    domain: Type.String({
      minLength: 1,
      maxLength: 253,
      description: 'The host, such as "app.example.com" or "*.example.com". It cannot be changed later.',
    }),
    region: Type.String({
      default: '',
      maxLength: 64,
      pattern: '^[a-z0-9-]+$',
      description: 'Region of the domain, for your own use. Default: "".',
    }),
    certificate_id: reference(
      { kinds: ['tls_certificate'], readAs: 'certificate' },
      Type.String({
        default: '',
        maxLength: 64,
        description: 'Id of the TLS certificate for the host. Cannot be combined with certificate_management_policy.',
      }),
    ),
    certificate_management_policy: Type.Object(
      {
        authority: Type.Enum(['internal'], {
          description:
            'Authority that issues the certificate: "internal", the CA of this server. Upload a public certificate with POST /tls_certificates.',
        }),
        private_key_type: Type.Enum(['ecdsa'], { default: 'ecdsa', description: 'Type of the private key: "ecdsa".' }),
      },
      {
        default: null,
        description: 'Policy to issue and renew the certificate automatically. Cannot be combined with certificate_id.',
      },
    ),
  }),
  // The Terraform provider sends "name", and the Python client an empty "resolves_to".
  otherNames: { aliases: { name: 'domain' }, ignoredIfEmpty: ['resolves_to'] },
  immutable: ['domain', 'region'],
  actions: domainActions,
  derived: {
    certificate_management_status: Type.Union(
      [
        Type.Object({
          renews_at: Type.Union([timestamp('When the certificate is renewed.'), Type.Null()], {
            description: 'When the certificate is renewed; null while unknown.',
          }),
          provisioning_job: Type.Null({ description: 'Always null: certificates are issued immediately.' }),
        }),
        Type.Null(),
      ],
      { description: 'State of the managed certificate; null if the certificate is not managed.' },
    ),
    acme_challenge_cname_target: Type.Null({ description: 'Always null: DNS challenges are not used.' }),
    cname_target: Type.Union([Type.String(), Type.Null()], {
      description: 'Target for a CNAME record of the domain.',
    }),
  },
  example: { domain: 'app.example.com' },
  normalize: (config) => ({ ...config, domain: lowerCaseHost(config.domain) }),
  check: (config) => {
    const problem = hostNameProblem(config.domain, 'allowed');
    if (problem !== null) return [bodyProblem('domain', problem)];
    const hasBoth = config.certificate_id !== '' && config.certificate_management_policy !== null;
    return hasBoth
      ? [bodyProblem('certificate_management_policy', 'cannot be combined with certificate_id: send one of them')]
      : [];
  },
  onCreate: (_config, { settings }) => ({
    derived: {
      certificate_management_status: null,
      cname_target: settings.domain === 'localhost' ? null : settings.domain,
    },
  }),
  uniqueKeys: (config) => [{ scope: 'reserved_domain', key: config.domain, field: 'domain' }],
});
