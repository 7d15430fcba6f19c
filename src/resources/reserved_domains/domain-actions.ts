import type { JsonObject } from '../../lib/json.ts';
import type { DocumentsPort } from '../documents-ports.ts';
import type { Operation, OperationRequest, OperationResult } from '../operation.ts';
import type { SharedPorts } from '../shared-ports.ts';

export interface DomainPorts extends Pick<SharedPorts, 'hostCertificates'> {
  readonly documents: Pick<DocumentsPort, 'update'>;
}

const KIND = 'reserved_domain';

/** Removes a certificate, or the policy that issues one, from a domain. */
export const domainActions: readonly Operation<DomainPorts>[] = [
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
