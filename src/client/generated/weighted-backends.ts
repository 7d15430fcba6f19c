// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { PageQuery } from '../page-query.ts';
import type { CreateOptions, RequestOptions, WriteOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface WeightedBackend {
  /** Id, starting with "bkdwd_". */
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
   * Map of backend id to weight. A weight is a whole number from 0 to 10000. The map has 1 to 100 backends, at
   * least one with a weight above 0.
   */
  readonly backends: Readonly<Record<string, number>>;
}

export interface WeightedBackendCreate {
  /** Free text for your own use; at most 255 characters. */
  readonly description?: string | undefined;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata?: string | undefined;
  /**
   * Map of backend id to weight. A weight is a whole number from 0 to 10000. The map has 1 to 100 backends, at
   * least one with a weight above 0.
   */
  readonly backends: Readonly<Record<string, number>>;
}

export interface WeightedBackendPage {
  /** The page, newest first. */
  readonly backends: readonly WeightedBackend[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

export interface WeightedBackendUpdate {
  /** Free text for your own use; at most 255 characters. */
  readonly description?: string | undefined;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata?: string | undefined;
  /**
   * Map of backend id to weight. A weight is a whole number from 0 to 10000. The map has 1 to 100 backends, at
   * least one with a weight above 0.
   */
  readonly backends?: Readonly<Record<string, number>> | undefined;
}

/** Distributes requests over other backends by weight. */
export class WeightedBackendsClient extends ResourceClient {
  /** Create a weighted backend. Distributes requests over other backends by weight. */
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

  /** Get a weighted backend. Distributes requests over other backends by weight. */
  get(id: string, options?: RequestOptions): Promise<Answer<WeightedBackend>> {
    return this.call({ method: 'GET', path: '/backends/weighted/{id}', params: { id } }, options);
  }

  /**
   * Update a weighted backend. Changes only the fields in the request; null counts as absent. A module in the
   * request is replaced as a whole. DELETE of the module removes it.
   */
  update(id: string, body: WeightedBackendUpdate, options?: WriteOptions): Promise<Answer<WeightedBackend>> {
    return this.call({ method: 'PATCH', path: '/backends/weighted/{id}', params: { id }, body }, options);
  }

  /** Delete a weighted backend. Returns 409 if other resources refer to it; details.referred_by names them. */
  delete(id: string, options?: WriteOptions): Promise<ResponseInfo> {
    return this.callForNothing({ method: 'DELETE', path: '/backends/weighted/{id}', params: { id } }, options);
  }
}
