import Type from 'typebox';
import { identityHostConflict } from '../../../edges/owned-names.ts';
import type { JsonObject } from '../../../kit/json.ts';
import { hostNameProblem, lowerCaseHost } from '../../../kit/net/host-name.ts';
import { reference } from '../../../kit/schema/annotations.ts';
import { bodyProblem } from '../../../kit/schema/decode-body.ts';
import type { ManagedCertificateDoc } from '../../../proxy/acme/records.ts';
import type { StoredRecord } from '../../../store/store.ts';
import {
  managementStatus,
  provisioningJobSchema,
  renewsAtSchema,
} from '../managed_certificates/managed-certificates.ts';
import type { Operation, OperationRequest, OperationResult } from '../operation.ts';
import type { DocumentsPort, HostCertificates, SharedPorts } from '../ports.ts';
import { defineResource, describedFields } from '../resource.ts';

export interface DomainPorts extends Pick<SharedPorts, 'hostCertificates'> {
  readonly documents: Pick<DocumentsPort, 'update'>;
}

const KIND = 'reserved_domain';

/** Removes a certificate, or the policy that issues one, from a domain. */
const domainActions: readonly Operation<DomainPorts>[] = [
  removal('certificate', 'certificate_id', 'Remove the certificate of a reserved domain', { certificate_id: '' }),
  removal(
    'certificate_management_policy',
    'certificate_management_policy',
    'Remove the certificate policy of a reserved domain',
    { certificate_management_policy: null },
  ),
];

function removal(segment: string, field: string, summary: string, unset: JsonObject): Operation<DomainPorts> {
  const runOn = async (documents: DomainPorts['documents'], request: OperationRequest): Promise<OperationResult> => {
    const id = request.params['id'] as string;
    const { revision } = await documents.update(KIND, id, request, (config) => ({ config: { ...config, ...unset } }));
    return { body: null, revision };
  };
  return {
    resource: 'reserved_domains',
    verb: `delete_${segment}`,
    method: 'DELETE',
    path: `/reserved_domains/{id}/${segment}`,
    summary,
    description: `Resets "${field}". If the domain has none, nothing changes and the request succeeds.`,
    success: { status: 204, schema: null, description: 'The value is removed.' },
    errors: ['ERR_POSTERN_NOT_FOUND', 'ERR_POSTERN_PRECONDITION_FAILED', 'ERR_POSTERN_TOO_MANY_CONFLICTS'],
    isConditional: true,
    run: (request, { documents }) => runOn(documents, request),
    runOn,
  };
}

const statusSchema = Type.Union(
  [Type.Object({ renews_at: renewsAtSchema, provisioning_job: provisioningJobSchema }), Type.Null()],
  {
    description:
      'State of the certificate that an ACME server issues for the domain, with or without a policy; null if the domain needs none.',
  },
);

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
  hasHostNames: true,
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
        authority: Type.Enum(['letsencrypt', 'internal'], {
          description:
            'Authority that issues the certificate: "letsencrypt" for the ACME servers in the setting acme_directory, or "internal" for the CA of this server. Upload other certificates with POST /tls_certificates.',
        }),
        private_key_type: Type.Enum(['ecdsa', 'rsa'], {
          default: 'ecdsa',
          description: 'Type of the private key: "ecdsa" or "rsa". The internal CA always uses "ecdsa".',
        }),
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
    certificate_management_status: statusSchema,
    acme_challenge_cname_target: Type.Null({
      description: 'Always null. For DNS challenges, the setting acme_dns names the provider of a zone.',
    }),
    cname_target: Type.Union([Type.String(), Type.Null()], {
      description: 'Target for a CNAME record of the domain.',
    }),
  },
  live: {
    schema: { certificate_management_status: statusSchema },
    read: (records, { hostCertificates }: DomainPorts) =>
      Promise.resolve(new Map(records.map((record) => [record.id, liveStatus(record, hostCertificates)]))),
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
  conflict: (config, previous, settings) => {
    const own = previous === null ? identityHostConflict(config.domain, settings) : null;
    return own === null ? null : `"domain" is ${own}`;
  },
  onCreate: (_config, { settings }) => ({
    derived: {
      certificate_management_status: null,
      cname_target: settings.domain === 'localhost' ? null : settings.domain,
    },
  }),
  uniqueKeys: (config) => [{ scope: 'reserved_domain', key: config.domain, field: 'domain' }],
});

/** The policy counts from the write that set it, before the server has looked at the domain again. */
function liveStatus({ doc }: StoredRecord, hostCertificates: HostCertificates): JsonObject {
  const policy = doc['certificate_management_policy'] as { readonly authority?: string } | null | undefined;
  if (policy?.authority === 'internal') return { certificate_management_status: null };
  const managed = hostCertificates.managed(doc['domain'] as string)?.doc as ManagedCertificateDoc | undefined;
  const isManaged = managed !== undefined && (managed.unwanted_since === null || policy?.authority === 'letsencrypt');
  if (isManaged) return { certificate_management_status: managementStatus(managed) };
  const isAsked = policy?.authority === 'letsencrypt';
  return { certificate_management_status: isAsked ? { renews_at: null, provisioning_job: null } : null };
}
