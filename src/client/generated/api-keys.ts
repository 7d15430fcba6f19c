// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { PageQuery } from '../page-query.ts';
import type { CreateOptions, RequestOptions, WriteOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface ApiKey {
  /** Id, starting with "ak_". */
  readonly id: string;
  /** URI of the resource. */
  readonly uri: string;
  /** When it was created. */
  readonly created_at: string;
  /** Free text for your own use; at most 255 characters. */
  readonly description: string;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata: string;
  /**
   * Scopes of the key, such as ["edges:read", "edges:write"]: the first path segment with ":read" or ":write";
   * "metrics:read" to read /metrics; "secrets:read" to read secrets; "*:read" to read everything else. Use "*" or
   * omit the field for all scopes.
   */
  readonly scopes: readonly string[];
  /** Always null: resources have no owner. */
  readonly owner_id: null;
  /** Always null: only the response to the create shows it. */
  readonly token: string | null;
}

export interface ApiKeyCreated extends ApiKey {
  /** The key itself. Send it as "Authorization: Bearer …". Only this response shows it. */
  readonly token: string;
}

export interface ApiKeyCreate {
  /** Free text for your own use; at most 255 characters. */
  readonly description?: string | undefined;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata?: string | undefined;
  /**
   * Scopes of the key, such as ["edges:read", "edges:write"]: the first path segment with ":read" or ":write";
   * "metrics:read" to read /metrics; "secrets:read" to read secrets; "*:read" to read everything else. Use "*" or
   * omit the field for all scopes.
   */
  readonly scopes?: readonly string[] | undefined;
}

export interface ApiKeyPage {
  /** The page, newest first. */
  readonly keys: readonly ApiKey[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

export interface ApiKeyUpdate {
  /** Free text for your own use; at most 255 characters. */
  readonly description?: string | undefined;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata?: string | undefined;
  /**
   * Scopes of the key, such as ["edges:read", "edges:write"]: the first path segment with ":read" or ":write";
   * "metrics:read" to read /metrics; "secrets:read" to read secrets; "*:read" to read everything else. Use "*" or
   * omit the field for all scopes.
   */
  readonly scopes?: readonly string[] | undefined;
}

/** A key for this API. Its token is shown only once, in the response to the create, and stored as a hash. */
export class ApiKeysClient extends ResourceClient {
  /**
   * Create an API key. A key for this API. Its token is shown only once, in the response to the create, and stored
   * as a hash.
   */
  create(body: ApiKeyCreate = {}, options?: CreateOptions): Promise<Answer<ApiKeyCreated>> {
    return this.call({ method: 'POST', path: '/api_keys', body }, options);
  }

  /** List API keys: every one, page after page. */
  list(query?: PageQuery, options?: RequestOptions): AsyncGenerator<ApiKey, void, undefined> {
    return this.eachItem({ method: 'GET', path: '/api_keys', query }, 'keys', options);
  }

  /** List API keys: one page. */
  page(query?: PageQuery, options?: RequestOptions): Promise<Answer<ApiKeyPage>> {
    return this.call({ method: 'GET', path: '/api_keys', query }, options);
  }

  /**
   * Get an API key. A key for this API. Its token is shown only once, in the response to the create, and stored as
   * a hash.
   */
  get(id: string, options?: RequestOptions): Promise<Answer<ApiKey>> {
    return this.call({ method: 'GET', path: '/api_keys/{id}', params: { id } }, options);
  }

  /**
   * Update an API key. Changes only the fields in the request; null counts as absent. A module in the request is
   * replaced as a whole. DELETE of the module removes it.
   */
  update(id: string, body: ApiKeyUpdate, options?: WriteOptions): Promise<Answer<ApiKey>> {
    return this.call({ method: 'PATCH', path: '/api_keys/{id}', params: { id }, body }, options);
  }

  /** Delete an API key. Returns 409 if other resources refer to it; details.referred_by names them. */
  delete(id: string, options?: WriteOptions): Promise<ResponseInfo> {
    return this.callForNothing({ method: 'DELETE', path: '/api_keys/{id}', params: { id } }, options);
  }
}
