// Made from the schemas of src/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { PageQuery } from '../page-query.ts';
import type { ConditionalOptions, CreateOptions, RequestOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface ApiKey {
  /** Id, starting with "ak_". */
  readonly id: string;
  /** URI of the resource. */
  readonly uri: string;
  /** When it was created. RFC 3339, UTC. */
  readonly created_at: string;
  /** What this is for, in your own words; at most 255 characters. */
  readonly description: string;
  /** Anything of yours, such as JSON; at most 4096 bytes. Postern does not read it. */
  readonly metadata: string;
  /**
   * What the key may do: a list such as ["edges:read", "edges:write"], the first segment of the path with ":read"
   * or ":write"; "secrets:read" to see secrets; "*" or left out for everything.
   */
  readonly scopes: readonly string[];
  /** Always null: there are no users that could own it. */
  readonly owner_id: null;
  /** Null: only the answer to the create shows it. */
  readonly token: string | null;
}

export interface ApiKeyCreated extends ApiKey {
  /** The key itself, to be sent as "Authorization: Bearer …". Shown only here. */
  readonly token: string;
}

export interface ApiKeyCreate {
  /** What this is for, in your own words; at most 255 characters. */
  readonly description?: string | undefined;
  /** Anything of yours, such as JSON; at most 4096 bytes. Postern does not read it. */
  readonly metadata?: string | undefined;
  /**
   * What the key may do: a list such as ["edges:read", "edges:write"], the first segment of the path with ":read"
   * or ":write"; "secrets:read" to see secrets; "*" or left out for everything.
   */
  readonly scopes?: readonly string[] | undefined;
}

export interface ApiKeyPage {
  /** The page, newest first. */
  readonly keys: readonly ApiKey[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page, or null when there is none. */
  readonly next_page_uri: string | null;
}

export interface ApiKeyUpdate {
  /** What this is for, in your own words; at most 255 characters. */
  readonly description?: string | undefined;
  /** Anything of yours, such as JSON; at most 4096 bytes. Postern does not read it. */
  readonly metadata?: string | undefined;
  /**
   * What the key may do: a list such as ["edges:read", "edges:write"], the first segment of the path with ":read"
   * or ":write"; "secrets:read" to see secrets; "*" or left out for everything.
   */
  readonly scopes?: readonly string[] | undefined;
}

/** A key for this API. Its token is shown once, when it is made, and stored as a hash only. */
export class ApiKeysClient extends ResourceClient {
  /** Create an API key. A key for this API. Its token is shown once, when it is made, and stored as a hash only. */
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

  /** Get an API key. A key for this API. Its token is shown once, when it is made, and stored as a hash only. */
  get(id: string, options?: RequestOptions): Promise<Answer<ApiKey>> {
    return this.call({ method: 'GET', path: '/api_keys/{id}', params: { id } }, options);
  }

  /** Change fields of an API key. Only the fields that are named change. A module that is named is replaced whole. */
  update(id: string, body: ApiKeyUpdate, options?: ConditionalOptions): Promise<Answer<ApiKey>> {
    return this.call({ method: 'PATCH', path: '/api_keys/{id}', params: { id }, body }, options);
  }

  /** Delete an API key. A resource that others refer to is not deleted: 409, and details.referred_by names them. */
  delete(id: string, options?: ConditionalOptions): Promise<ResponseInfo> {
    return this.callForNothing({ method: 'DELETE', path: '/api_keys/{id}', params: { id } }, options);
  }
}
