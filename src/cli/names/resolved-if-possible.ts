import { PosternApiError } from '../../client/postern-api-error.ts';
import { PosternConnectionError } from '../../client/postern-connection-error.ts';
import { Transport } from '../../client/transport.ts';
import { fetchWith } from '../api/api-fetch.ts';
import type { ApiKey } from '../api/api-key.ts';
import type { RequestParts } from '../api/build-request.ts';
import type { OperationDescription } from '../api/operation-list.ts';
import type { CommandContext } from '../command.ts';
import { Names } from './names.ts';
import { resolveRequest } from './resolve-request.ts';

/** For a dry run, which also works without a server: then names stay names. */
export async function resolvedIfPossible(
  operation: OperationDescription,
  parts: RequestParts,
  { url, apiKey, context }: { readonly url: string; readonly apiKey: ApiKey | null; readonly context: CommandContext },
): Promise<RequestParts> {
  const unresolved = parts.path['edge_id'] === '' ? { ...parts, path: { ...parts.path, edge_id: 'EDGE' } } : parts;
  if (apiKey === null) return unresolved;
  const transport = new Transport({
    baseUrl: url,
    fetch: fetchWith(apiKey),
    apiKey: apiKey.key,
    retry: { maxRetries: 0 },
  });
  try {
    return await resolveRequest(operation, parts, new Names(transport, context));
  } catch (error) {
    if (!(error instanceof PosternApiError) && !(error instanceof PosternConnectionError)) throw error;
    return unresolved;
  }
}
