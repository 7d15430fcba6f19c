// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { PageQuery } from '../page-query.ts';
import type { CreateOptions, RequestOptions, WriteOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface ServiceAccountToken {
  /** Id, starting with "sat_". */
  readonly id: string;
  /** URI of the resource. */
  readonly uri: string;
  /** When it was created. */
  readonly created_at: string;
  /** Free text for your own use; at most 255 characters. */
  readonly description: string;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata: string;
  /** Id of the service account that the token belongs to. It cannot be changed later. */
  readonly service_account_id: string;
  /**
   * When the token expires: a time in RFC 3339 format. A change takes effect immediately. Default: one year after
   * the create.
   */
  readonly expires_at: string;
  /** When the token last admitted a request, to the minute; null if it was never used. */
  readonly last_used_at: string | null;
  /** Always null: only the response to the create shows it. */
  readonly token: string | null;
}

export interface ServiceAccountTokenCreated extends ServiceAccountToken {
  /** The token itself. Send it as "Authorization: Bearer …". Only this response shows it. */
  readonly token: string;
}

export interface ServiceAccountTokenCreate {
  /** Free text for your own use; at most 255 characters. */
  readonly description?: string | undefined;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata?: string | undefined;
  /** Id of the service account that the token belongs to. It cannot be changed later. */
  readonly service_account_id: string;
  /**
   * When the token expires: a time in RFC 3339 format. A change takes effect immediately. Default: one year after
   * the create.
   */
  readonly expires_at?: string | undefined;
}

export interface ServiceAccountTokenPage {
  /** The page, newest first. */
  readonly service_account_tokens: readonly ServiceAccountToken[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

export interface ServiceAccountTokenUpdate {
  /** Free text for your own use; at most 255 characters. */
  readonly description?: string | undefined;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata?: string | undefined;
  /**
   * When the token expires: a time in RFC 3339 format. A change takes effect immediately. Default: one year after
   * the create.
   */
  readonly expires_at?: string | undefined;
}

/**
 * A bearer token of a service account. It is shown only once, in the response to the create, and stored as a
 * hash. Deleting it, or its expiry, ends open streams within a second.
 */
export class ServiceAccountTokensClient extends ResourceClient {
  /**
   * Create a service account token. A bearer token of a service account. It is shown only once, in the response to
   * the create, and stored as a hash. Deleting it, or its expiry, ends open streams within a second.
   */
  create(body: ServiceAccountTokenCreate, options?: CreateOptions): Promise<Answer<ServiceAccountTokenCreated>> {
    return this.call({ method: 'POST', path: '/service_account_tokens', body }, options);
  }

  /** List service account tokens: every one, page after page. */
  list(query?: PageQuery, options?: RequestOptions): AsyncGenerator<ServiceAccountToken, void, undefined> {
    return this.eachItem({ method: 'GET', path: '/service_account_tokens', query }, 'service_account_tokens', options);
  }

  /** List service account tokens: one page. */
  page(query?: PageQuery, options?: RequestOptions): Promise<Answer<ServiceAccountTokenPage>> {
    return this.call({ method: 'GET', path: '/service_account_tokens', query }, options);
  }

  /**
   * Get a service account token. A bearer token of a service account. It is shown only once, in the response to
   * the create, and stored as a hash. Deleting it, or its expiry, ends open streams within a second.
   */
  get(id: string, options?: RequestOptions): Promise<Answer<ServiceAccountToken>> {
    return this.call({ method: 'GET', path: '/service_account_tokens/{id}', params: { id } }, options);
  }

  /**
   * Update a service account token. Changes only the fields in the request; null counts as absent. A module in the
   * request is replaced as a whole. DELETE of the module removes it.
   */
  update(id: string, body: ServiceAccountTokenUpdate, options?: WriteOptions): Promise<Answer<ServiceAccountToken>> {
    return this.call({ method: 'PATCH', path: '/service_account_tokens/{id}', params: { id }, body }, options);
  }

  /** Delete a service account token. Returns 409 if other resources refer to it; details.referred_by names them. */
  delete(id: string, options?: WriteOptions): Promise<ResponseInfo> {
    return this.callForNothing({ method: 'DELETE', path: '/service_account_tokens/{id}', params: { id } }, options);
  }
}
