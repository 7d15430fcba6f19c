// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { PageQuery } from '../page-query.ts';
import type { CreateOptions, RequestOptions, WriteOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface ServiceAccount {
  /** Id, starting with "sa_". */
  readonly id: string;
  /** URI of the resource. */
  readonly uri: string;
  /** When it was created. */
  readonly created_at: string;
  /** Free text for your own use; at most 255 characters. */
  readonly description: string;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata: string;
  /** Name of the program, such as "nightly backup"; sent to the upstream. 1 to 128 characters. */
  readonly name: string;
  /**
   * Whether its tokens are accepted. False rejects them on every route and ends open streams within a second.
   * Default: true.
   */
  readonly active: boolean;
}

export interface ServiceAccountCreate {
  /** Free text for your own use; at most 255 characters. */
  readonly description?: string | undefined;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata?: string | undefined;
  /** Name of the program, such as "nightly backup"; sent to the upstream. 1 to 128 characters. */
  readonly name: string;
  /**
   * Whether its tokens are accepted. False rejects them on every route and ends open streams within a second.
   * Default: true.
   */
  readonly active?: boolean | undefined;
}

export interface ServiceAccountPage {
  /** The page, newest first. */
  readonly service_accounts: readonly ServiceAccount[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

export interface ServiceAccountUpdate {
  /** Free text for your own use; at most 255 characters. */
  readonly description?: string | undefined;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata?: string | undefined;
  /** Name of the program, such as "nightly backup"; sent to the upstream. 1 to 128 characters. */
  readonly name?: string | undefined;
  /**
   * Whether its tokens are accepted. False rejects them on every route and ends open streams within a second.
   * Default: true.
   */
  readonly active?: boolean | undefined;
}

/**
 * A program that passes routes without a login: its tokens are sent as "Authorization: Bearer pst_…", and the
 * access module of a route names the account. An account that an access module names cannot be deleted.
 */
export class ServiceAccountsClient extends ResourceClient {
  /**
   * Create a service account. A program that passes routes without a login: its tokens are sent as "Authorization:
   * Bearer pst_…", and the access module of a route names the account. An account that an access module names
   * cannot be deleted.
   */
  create(body: ServiceAccountCreate, options?: CreateOptions): Promise<Answer<ServiceAccount>> {
    return this.call({ method: 'POST', path: '/service_accounts', body }, options);
  }

  /** List service accounts: every one, page after page. */
  list(query?: PageQuery, options?: RequestOptions): AsyncGenerator<ServiceAccount, void, undefined> {
    return this.eachItem({ method: 'GET', path: '/service_accounts', query }, 'service_accounts', options);
  }

  /** List service accounts: one page. */
  page(query?: PageQuery, options?: RequestOptions): Promise<Answer<ServiceAccountPage>> {
    return this.call({ method: 'GET', path: '/service_accounts', query }, options);
  }

  /**
   * Get a service account. A program that passes routes without a login: its tokens are sent as "Authorization:
   * Bearer pst_…", and the access module of a route names the account. An account that an access module names
   * cannot be deleted.
   */
  get(id: string, options?: RequestOptions): Promise<Answer<ServiceAccount>> {
    return this.call({ method: 'GET', path: '/service_accounts/{id}', params: { id } }, options);
  }

  /**
   * Update a service account. Changes only the fields in the request; null counts as absent. A module in the
   * request is replaced as a whole. DELETE of the module removes it.
   */
  update(id: string, body: ServiceAccountUpdate, options?: WriteOptions): Promise<Answer<ServiceAccount>> {
    return this.call({ method: 'PATCH', path: '/service_accounts/{id}', params: { id }, body }, options);
  }

  /** Delete a service account. Returns 409 if other resources refer to it; details.referred_by names them. */
  delete(id: string, options?: WriteOptions): Promise<ResponseInfo> {
    return this.callForNothing({ method: 'DELETE', path: '/service_accounts/{id}', params: { id } }, options);
  }
}
