// Made from the schemas of src/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { PageQuery } from '../page-query.ts';
import type { ConditionalOptions, CreateOptions, RequestOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface WeightedBackend {
  /** Id, starting with "bkdwd_". */
  readonly id: string;
  /** URI of the resource. */
  readonly uri: string;
  /** When it was created. RFC 3339, UTC. */
  readonly created_at: string;
  /** What this is for, in your own words; at most 255 characters. */
  readonly description: string;
  /** Anything of yours, such as JSON; at most 4096 bytes. Postern does not read it. */
  readonly metadata: string;
  /** Map of backend id to weight, a whole number from 0 to 10000; 1 to 100 backends, at least one weight above 0. */
  readonly backends: Readonly<Record<string, number>>;
}

export interface WeightedBackendCreate {
  /** What this is for, in your own words; at most 255 characters. */
  readonly description?: string | undefined;
  /** Anything of yours, such as JSON; at most 4096 bytes. Postern does not read it. */
  readonly metadata?: string | undefined;
  /** Map of backend id to weight, a whole number from 0 to 10000; 1 to 100 backends, at least one weight above 0. */
  readonly backends: Readonly<Record<string, number>>;
}

export interface WeightedBackendPage {
  /** The page, newest first. */
  readonly backends: readonly WeightedBackend[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page, or null when there is none. */
  readonly next_page_uri: string | null;
}

export interface WeightedBackendUpdate {
  /** What this is for, in your own words; at most 255 characters. */
  readonly description?: string | undefined;
  /** Anything of yours, such as JSON; at most 4096 bytes. Postern does not read it. */
  readonly metadata?: string | undefined;
  /** Map of backend id to weight, a whole number from 0 to 10000; 1 to 100 backends, at least one weight above 0. */
  readonly backends?: Readonly<Record<string, number>> | undefined;
}

/** Shares requests out over other backends by weight. */
export class WeightedBackendsClient extends ResourceClient {
  /** Create a weighted backend. Shares requests out over other backends by weight. */
  create(body: WeightedBackendCreate, options?: CreateOptions): Promise<Answer<WeightedBackend>> {
    return this.call({ method: 'POST', path: '/backends/weighted', body }, options);
  }

  /** List weighted backends: every one, page after page. */
  list(query?: PageQuery, options?: RequestOptions): AsyncGenerator<WeightedBackend, void, undefined> {
    return this.eachItem({ method: 'GET', path: '/backends/weighted', query }, 'backends', options);
  }

  /** List weighted backends: one page. */
  page(query?: PageQuery, options?: RequestOptions): Promise<Answer<WeightedBackendPage>> {
    return this.call({ method: 'GET', path: '/backends/weighted', query }, options);
  }

  /** Get a weighted backend. Shares requests out over other backends by weight. */
  get(id: string, options?: RequestOptions): Promise<Answer<WeightedBackend>> {
    return this.call({ method: 'GET', path: '/backends/weighted/{id}', params: { id } }, options);
  }

  /**
   * Change fields of a weighted backend. Only the fields that are named change. A module that is named is replaced
   * whole.
   */
  update(id: string, body: WeightedBackendUpdate, options?: ConditionalOptions): Promise<Answer<WeightedBackend>> {
    return this.call({ method: 'PATCH', path: '/backends/weighted/{id}', params: { id }, body }, options);
  }

  /**
   * Delete a weighted backend. A resource that others refer to is not deleted: 409, and details.referred_by names
   * them.
   */
  delete(id: string, options?: ConditionalOptions): Promise<ResponseInfo> {
    return this.callForNothing({ method: 'DELETE', path: '/backends/weighted/{id}', params: { id } }, options);
  }
}
