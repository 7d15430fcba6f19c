// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { PageQuery } from '../page-query.ts';
import type { CreateOptions, RequestOptions, WriteOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';
import type { CompressionModule, CompressionModuleReplace } from './compression-module.ts';

export interface StaticBackend {
  /** Id, starting with "bkdsc_". */
  readonly id: string;
  /** URI of the resource. */
  readonly uri: string;
  /** When it was created. */
  readonly created_at: string;
  /** Free text for your own use; at most 255 characters. */
  readonly description: string;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata: string;
  /** Address of the upstream: "host:port", such as "10.0.0.5:3000" or "[2001:db8::1]:443". */
  readonly address: string;
  /** TLS to the upstream. */
  readonly tls: CompressionModule;
}

export interface StaticBackendCreate {
  /** Free text for your own use; at most 255 characters. */
  readonly description?: string | undefined;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata?: string | undefined;
  /** Address of the upstream: "host:port", such as "10.0.0.5:3000" or "[2001:db8::1]:443". */
  readonly address: string;
  /** TLS to the upstream. */
  readonly tls?: CompressionModuleReplace | undefined;
}

export interface StaticBackendPage {
  /** The page, newest first. */
  readonly backends: readonly StaticBackend[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

export interface StaticBackendUpdate {
  /** Free text for your own use; at most 255 characters. */
  readonly description?: string | undefined;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata?: string | undefined;
  /** Address of the upstream: "host:port", such as "10.0.0.5:3000" or "[2001:db8::1]:443". */
  readonly address?: string | undefined;
  /** TLS to the upstream. */
  readonly tls?: CompressionModuleReplace | undefined;
}

/** Forwards requests to one address. */
export class StaticBackendsClient extends ResourceClient {
  /** Create a static backend. Forwards requests to one address. */
  create(body: StaticBackendCreate, options?: CreateOptions): Promise<Answer<StaticBackend>> {
    return this.call({ method: 'POST', path: '/backends/static', body }, options);
  }

  /** List static backends: every one, page after page. */
  list(query?: PageQuery, options?: RequestOptions): AsyncGenerator<StaticBackend, void, undefined> {
    return this.eachItem({ method: 'GET', path: '/backends/static', query }, 'backends', options);
  }

  /** List static backends: one page. */
  page(query?: PageQuery, options?: RequestOptions): Promise<Answer<StaticBackendPage>> {
    return this.call({ method: 'GET', path: '/backends/static', query }, options);
  }

  /** Get a static backend. Forwards requests to one address. */
  get(id: string, options?: RequestOptions): Promise<Answer<StaticBackend>> {
    return this.call({ method: 'GET', path: '/backends/static/{id}', params: { id } }, options);
  }

  /**
   * Update a static backend. Changes only the fields in the request; null counts as absent. A module in the
   * request is replaced as a whole. DELETE of the module removes it.
   */
  update(id: string, body: StaticBackendUpdate, options?: WriteOptions): Promise<Answer<StaticBackend>> {
    return this.call({ method: 'PATCH', path: '/backends/static/{id}', params: { id }, body }, options);
  }

  /** Delete a static backend. Returns 409 if other resources refer to it; details.referred_by names them. */
  delete(id: string, options?: WriteOptions): Promise<ResponseInfo> {
    return this.callForNothing({ method: 'DELETE', path: '/backends/static/{id}', params: { id } }, options);
  }
}
