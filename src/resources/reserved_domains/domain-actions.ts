import type { JsonObject } from '../../lib/json.ts';
import type { Operation } from '../operation.ts';

const KIND = 'reserved_domain';

/** Removes a certificate, or the policy that issues one, from a domain. */
export const domainActions: readonly Operation[] = [
  removal('certificate', 'certificate_id', 'Take the certificate from a reserved domain', { certificate_id: '' }),
  removal(
    'certificate_management_policy',
    'certificate_management_policy',
    'Take the certificate policy from a reserved domain',
    { certificate_management_policy: null },
  ),
];

function removal(segment: string, field: string, summary: string, unset: JsonObject): Operation {
  return {
    resource: 'reserved_domains',
    verb: `delete-${segment.replaceAll('_', '-')}`,
    method: 'DELETE',
    path: `/reserved_domains/{id}/${segment}`,
    summary,
    description: `Sets "${field}" back. A domain that has none stays as it is, which is no error.`,
    success: { status: 204, schema: null, description: 'The domain has none.' },
    errors: ['ERR_POSTERN_NOT_FOUND', 'ERR_POSTERN_PRECONDITION_FAILED', 'ERR_POSTERN_TOO_MANY_CONFLICTS'],
    isConditional: true,
    run: async (request, { documents }) => {
      const id = request.params['id'] as string;
      const { revision } = await documents.update(KIND, id, request, (config) => ({ config: { ...config, ...unset } }));
      return { body: null, revision };
    },
  };
}
