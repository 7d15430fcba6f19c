import type { CompiledResource } from '../documents/compiled.ts';
import { Documents } from '../documents/documents.ts';
import type { DocumentsContext } from '../documents/documents-context.ts';
import { PosternError } from '../lib/errors.ts';
import type { Replica } from '../replica/replica.ts';
import type { OperationRequest } from '../resources/operation.ts';
import type { BootstrapPort } from './bootstrap.ts';

/** Makes first keys through the same code that makes every other, with a token that is given instead of drawn. */
export function bootstrapPort(context: DocumentsContext, replica: Replica): BootstrapPort {
  return {
    count: (kind) => Promise.resolve(replica.count(kind)),
    create: async ({ kind, token, description, scopes }) => {
      const documents = new Documents({ ...context, newToken: () => token });
      const compiled = context.catalog.compiled.get(kind) as CompiledResource;
      const body = { description, ...(scopes !== undefined && { scopes: [...scopes] }) };
      try {
        await documents.create(compiled, { ...OPERATOR_REQUEST, body }, null);
      } catch (error) {
        // Another process started at the same moment with the same preset: the key is there, whoever made it.
        if (!(error instanceof PosternError && error.code === 'ERR_POSTERN_ALREADY_EXISTS')) throw error;
      }
    },
  };
}

/** The operator at the machine may do anything; no API key stands behind it. */
export const OPERATOR_REQUEST: Omit<OperationRequest, 'body'> = {
  operationId: '',
  principal: { apiKeyId: '', scopes: ['*'] },
  params: {},
  query: {},
  ifMatch: null,
  idempotency: null,
  version: 2,
  isLegacyClient: false,
};
