import type { CompiledResource } from '../documents/catalog.ts';
import { Documents } from '../documents/documents.ts';
import type { DocumentsContext } from '../documents/documents-context.ts';
import { PosternError } from '../lib/errors.ts';
import type { JsonObject } from '../lib/json.ts';
import { hashToken } from '../lib/text/token-hash.ts';
import type { Replica } from '../replica/replica.ts';
import type { OperationRequest } from '../resources/operation.ts';
import type { BootstrapPort } from './bootstrap.ts';

/** Creates the first keys through the same code as every other, with a given token instead of a generated one. */
export function bootstrapPort(
  context: DocumentsContext,
  replica: Replica,
  administratorLink: BootstrapPort['administratorLink'],
): BootstrapPort {
  return {
    count: (kind) => Promise.resolve(replica.count(kind)),
    has: (kind, token) => {
      const hash = hashToken(token);
      return Promise.resolve(
        [...replica.all(kind)].some(({ doc }) => (doc['internal'] as JsonObject | undefined)?.['token_hash'] === hash),
      );
    },
    administratorLink,
    create: async ({ kind, token, description, scopes }) => {
      const documents = new Documents({ ...context, newToken: () => token });
      const compiled = context.catalog.compiled.get(kind) as CompiledResource;
      const body = { description, ...(scopes !== undefined && { scopes: [...scopes] }) };
      try {
        await documents.create(compiled, { ...OPERATOR_REQUEST, body }, null);
      } catch (error) {
        // Another process started at the same moment with the same preset: the key already exists.
        if (!(error instanceof PosternError && error.code === 'ERR_POSTERN_ALREADY_EXISTS')) throw error;
      }
    },
  };
}

/** A local operator may do anything; there is no API key. */
export const OPERATOR_REQUEST: Omit<OperationRequest, 'body'> = {
  operationId: '',
  principal: { apiKeyId: '', scopes: ['*'] },
  params: {},
  query: {},
  ifMatch: null,
  ifNoneMatch: null,
  idempotency: null,
  version: 2,
  isLegacyClient: false,
};
