// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { PageQuery } from '../page-query.ts';
import type { CreateOptions, RequestOptions, WriteOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface FailoverBackend {
  /** Id, starting with "bkdfo_". */
  readonly id: string;
  /** URI of the resource. */
  readonly uri: string;
  /** When it was created. */
  readonly created_at: string;
  /** Free text for your own use; at most 255 characters. */
  readonly description: string;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata: string;
  /** Ids of 1 to 100 distinct backends, in the order in which they are tried. */
  readonly backends: readonly string[];
}

export interface FailoverBackendCreate {
  /** Free text for your own use; at most 255 characters. */
  readonly description?: string | undefined;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata?: string | undefined;
  /** Ids of 1 to 100 distinct backends, in the order in which they are tried. */
  readonly backends: readonly string[];
}

export interface FailoverBackendPage {
  /** The page, newest first. */
  readonly backends: readonly FailoverBackend[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

export interface FailoverBackendUpdate {
  /** Free text for your own use; at most 255 characters. */
  readonly description?: string | undefined;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata?: string | undefined;
  /** Ids of 1 to 100 distinct backends, in the order in which they are tried. */
  readonly backends?: readonly string[] | undefined;
}

/**
 * Forwards requests to the first backend that can be reached. A response with an error status is final: it does
 * not cause a failover.
 */
export class FailoverBackendsClient extends ResourceClient {
  /**
   * Create a failover backend. Forwards requests to the first backend that can be reached. A response with an
   * error status is final: it does not cause a failover.
   */
  create(body: FailoverBackendCreate, options?: CreateOptions): Promise<Answer<FailoverBackend>> {
    return this.call({ method: 'POST', path: '/backends/failover', body }, options);
  }

  /** List failover backends: every one, page after page. */
  list(query?: PageQuery, options?: RequestOptions): AsyncGenerator<FailoverBackend, void, undefined> {
    return this.eachItem({ method: 'GET', path: '/backends/failover', query }, 'backends', options);
  }

  /** List failover backends: one page. */
  page(query?: PageQuery, options?: RequestOptions): Promise<Answer<FailoverBackendPage>> {
    return this.call({ method: 'GET', path: '/backends/failover', query }, options);
  }

  /**
   * Get a failover backend. Forwards requests to the first backend that can be reached. A response with an error
   * status is final: it does not cause a failover.
   */
  get(id: string, options?: RequestOptions): Promise<Answer<FailoverBackend>> {
    return this.call({ method: 'GET', path: '/backends/failover/{id}', params: { id } }, options);
  }

  /**
   * Update a failover backend. Changes only the fields in the request; null counts as absent. A module in the
   * request is replaced as a whole. DELETE of the module removes it.
   */
  update(id: string, body: FailoverBackendUpdate, options?: WriteOptions): Promise<Answer<FailoverBackend>> {
    return this.call({ method: 'PATCH', path: '/backends/failover/{id}', params: { id }, body }, options);
  }

  /** Delete a failover backend. Returns 409 if other resources refer to it; details.referred_by names them. */
  delete(id: string, options?: WriteOptions): Promise<ResponseInfo> {
    return this.callForNothing({ method: 'DELETE', path: '/backends/failover/{id}', params: { id } }, options);
  }
}
