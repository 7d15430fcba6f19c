// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { PageQuery } from '../page-query.ts';
import type { CreateOptions, RequestOptions, WriteOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface HttpResponseBackend {
  /** Id, starting with "bkdhr_". */
  readonly id: string;
  /** URI of the resource. */
  readonly uri: string;
  /** When it was created. */
  readonly created_at: string;
  /** Free text for your own use; at most 255 characters. */
  readonly description: string;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata: string;
  /** Body of the response, at most 512 KiB. */
  readonly body: string;
  /** Headers of the response, such as {"content-type": "text/html"}. */
  readonly headers: Readonly<Record<string, string>>;
  /** Status of the response, 200 to 599. */
  readonly status_code: number;
}

export interface HttpResponseBackendCreate {
  /** Free text for your own use; at most 255 characters. */
  readonly description?: string | undefined;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata?: string | undefined;
  /** Body of the response, at most 512 KiB. */
  readonly body?: string | undefined;
  /** Headers of the response, such as {"content-type": "text/html"}. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Status of the response, 200 to 599. */
  readonly status_code?: number | undefined;
}

export interface HttpResponseBackendPage {
  /** The page, newest first. */
  readonly backends: readonly HttpResponseBackend[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

export interface HttpResponseBackendUpdate {
  /** Free text for your own use; at most 255 characters. */
  readonly description?: string | undefined;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata?: string | undefined;
  /** Body of the response, at most 512 KiB. */
  readonly body?: string | undefined;
  /** Headers of the response, such as {"content-type": "text/html"}. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Status of the response, 200 to 599. */
  readonly status_code?: number | undefined;
}

/** Returns the same response to every request. */
export class HttpResponseBackendsClient extends ResourceClient {
  /** Create an HTTP response backend. Returns the same response to every request. */
  create(body: HttpResponseBackendCreate = {}, options?: CreateOptions): Promise<Answer<HttpResponseBackend>> {
    return this.call({ method: 'POST', path: '/backends/http_response', body }, options);
  }

  /** List HTTP response backends: every one, page after page. */
  list(query?: PageQuery, options?: RequestOptions): AsyncGenerator<HttpResponseBackend, void, undefined> {
    return this.eachItem({ method: 'GET', path: '/backends/http_response', query }, 'backends', options);
  }

  /** List HTTP response backends: one page. */
  page(query?: PageQuery, options?: RequestOptions): Promise<Answer<HttpResponseBackendPage>> {
    return this.call({ method: 'GET', path: '/backends/http_response', query }, options);
  }

  /** Get an HTTP response backend. Returns the same response to every request. */
  get(id: string, options?: RequestOptions): Promise<Answer<HttpResponseBackend>> {
    return this.call({ method: 'GET', path: '/backends/http_response/{id}', params: { id } }, options);
  }

  /**
   * Update an HTTP response backend. Changes only the fields in the request; null counts as absent. A module in
   * the request is replaced as a whole. DELETE of the module removes it.
   */
  update(id: string, body: HttpResponseBackendUpdate, options?: WriteOptions): Promise<Answer<HttpResponseBackend>> {
    return this.call({ method: 'PATCH', path: '/backends/http_response/{id}', params: { id }, body }, options);
  }

  /** Delete an HTTP response backend. Returns 409 if other resources refer to it; details.referred_by names them. */
  delete(id: string, options?: WriteOptions): Promise<ResponseInfo> {
    return this.callForNothing({ method: 'DELETE', path: '/backends/http_response/{id}', params: { id } }, options);
  }
}
