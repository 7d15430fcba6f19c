// Made from the schemas of src/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { PageQuery } from '../page-query.ts';
import type { ConditionalOptions, CreateOptions, RequestOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface FailoverBackend {
  /** Id, starting with "bkdfo_". */
  readonly id: string;
  /** URI of the resource. */
  readonly uri: string;
  /** When it was created. RFC 3339, UTC. */
  readonly created_at: string;
  /** What this is for, in your own words; at most 255 characters. */
  readonly description: string;
  /** Anything of yours, such as JSON; at most 4096 bytes. Postern does not read it. */
  readonly metadata: string;
  /** Ids of 1 to 100 backends in the order in which they are tried, none twice. */
  readonly backends: readonly string[];
}

export interface FailoverBackendCreate {
  /** What this is for, in your own words; at most 255 characters. */
  readonly description?: string | undefined;
  /** Anything of yours, such as JSON; at most 4096 bytes. Postern does not read it. */
  readonly metadata?: string | undefined;
  /** Ids of 1 to 100 backends in the order in which they are tried, none twice. */
  readonly backends: readonly string[];
}

export interface FailoverBackendPage {
  /** The page, newest first. */
  readonly backends: readonly FailoverBackend[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page, or null when there is none. */
  readonly next_page_uri: string | null;
}

export interface FailoverBackendUpdate {
  /** What this is for, in your own words; at most 255 characters. */
  readonly description?: string | undefined;
  /** Anything of yours, such as JSON; at most 4096 bytes. Postern does not read it. */
  readonly metadata?: string | undefined;
  /** Ids of 1 to 100 backends in the order in which they are tried, none twice. */
  readonly backends?: readonly string[] | undefined;
}

/** Uses the first backend that can be reached. An error status is an answer: it never leads to the next. */
export class FailoverBackendsClient extends ResourceClient {
  /**
   * Create a failover backend. Uses the first backend that can be reached. An error status is an answer: it never
   * leads to the next.
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
   * Get a failover backend. Uses the first backend that can be reached. An error status is an answer: it never
   * leads to the next.
   */
  get(id: string, options?: RequestOptions): Promise<Answer<FailoverBackend>> {
    return this.call({ method: 'GET', path: '/backends/failover/{id}', params: { id } }, options);
  }

  /**
   * Change fields of a failover backend. Only the fields that are named change. A module that is named is replaced
   * whole.
   */
  update(id: string, body: FailoverBackendUpdate, options?: ConditionalOptions): Promise<Answer<FailoverBackend>> {
    return this.call({ method: 'PATCH', path: '/backends/failover/{id}', params: { id }, body }, options);
  }

  /**
   * Delete a failover backend. A resource that others refer to is not deleted: 409, and details.referred_by names
   * them.
   */
  delete(id: string, options?: ConditionalOptions): Promise<ResponseInfo> {
    return this.callForNothing({ method: 'DELETE', path: '/backends/failover/{id}', params: { id } }, options);
  }
}
