import { LOCAL_CALLER, type OperationRequest } from '../../resources/operation.ts';
import type { ChangeNote } from '../../store/store.ts';

/** Who makes a change, for the history. `via` names what made it, if not a single write. */
export function noteOf(
  request: OperationRequest,
  message = '',
  via: 'api' | 'changeset' | 'apply' | 'undo' | 'confirm' | 'revert' = 'api',
): ChangeNote {
  const { apiKeyId, person, identity } = request.principal;
  return {
    author: {
      kind: person !== undefined ? 'person' : kindOfCaller(apiKeyId),
      id: person ?? apiKeyId,
      ...(identity !== undefined && { issuer: identity.issuer, subject: identity.subject }),
      address: request.address ?? null,
      operation_id: request.operationId,
      via,
    },
    message,
  };
}

function kindOfCaller(id: string): 'server' | 'local' | 'api_key' {
  if (id === '') return 'server';
  return id.startsWith(LOCAL_CALLER) ? 'local' : 'api_key';
}
