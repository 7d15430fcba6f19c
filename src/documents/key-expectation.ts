import type { OperationRequest } from '../resources/operation.ts';
import type { Expectation } from '../store/store.ts';
import type { DocumentsContext } from './documents-context.ts';

/** Its resource imports documents. */
const API_KEY_KIND = 'api_key';

/**
 * Before the commit of an operation that may take seconds: rejects a key that was deleted or lost scopes meanwhile. Only the
 * store knows whether that happens just now, so the commit expects the key as it is.
 */
export async function keyExpectation(
  request: OperationRequest,
  { replica }: DocumentsContext,
): Promise<readonly Expectation[]> {
  await request.authenticateAgain?.();
  const key = replica.get(API_KEY_KIND, request.principal.apiKeyId);
  return key === undefined ? [] : [{ kind: key.kind, id: key.id, revision: key.revision }];
}
