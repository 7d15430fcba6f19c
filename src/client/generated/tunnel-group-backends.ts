// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { PageQuery } from '../page-query.ts';
import type { Ref } from '../ref.ts';
import type { CreateOptions, RequestOptions, WriteOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface TunnelGroupBackend {
  /** Id, starting with "bkdtg_". */
  readonly id: string;
  /** URI of the resource. */
  readonly uri: string;
  /** When it was created. */
  readonly created_at: string;
  /** Free text for your own use; at most 255 characters. */
  readonly description: string;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata: string;
  /** The 1 to 50 labels of the group, such as {"app": "shop"}. A tunnel with all of them is a member. */
  readonly labels: Readonly<Record<string, string>>;
  /** The current members of the group. */
  readonly tunnels: readonly Ref[];
}

export interface TunnelGroupBackendCreate {
  /** Free text for your own use; at most 255 characters. */
  readonly description?: string | undefined;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata?: string | undefined;
  /** The 1 to 50 labels of the group, such as {"app": "shop"}. A tunnel with all of them is a member. */
  readonly labels: Readonly<Record<string, string>>;
}

export interface TunnelGroupBackendPage {
  /** The page, newest first. */
  readonly backends: readonly TunnelGroupBackend[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

export interface TunnelGroupBackendUpdate {
  /** Free text for your own use; at most 255 characters. */
  readonly description?: string | undefined;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata?: string | undefined;
  /** The 1 to 50 labels of the group, such as {"app": "shop"}. A tunnel with all of them is a member. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
}

/** Balances requests over the tunnels that have all of its labels. */
export class TunnelGroupBackendsClient extends ResourceClient {
  /** Create a tunnel group backend. Balances requests over the tunnels that have all of its labels. */
  create(body: TunnelGroupBackendCreate, options?: CreateOptions): Promise<Answer<TunnelGroupBackend>> {
    return this.call({ method: 'POST', path: '/backends/tunnel_group', body }, options);
  }

  /** List tunnel group backends: every one, page after page. */
  list(query?: PageQuery, options?: RequestOptions): AsyncGenerator<TunnelGroupBackend, void, undefined> {
    return this.eachItem({ method: 'GET', path: '/backends/tunnel_group', query }, 'backends', options);
  }

  /** List tunnel group backends: one page. */
  page(query?: PageQuery, options?: RequestOptions): Promise<Answer<TunnelGroupBackendPage>> {
    return this.call({ method: 'GET', path: '/backends/tunnel_group', query }, options);
  }

  /** Get a tunnel group backend. Balances requests over the tunnels that have all of its labels. */
  get(id: string, options?: RequestOptions): Promise<Answer<TunnelGroupBackend>> {
    return this.call({ method: 'GET', path: '/backends/tunnel_group/{id}', params: { id } }, options);
  }

  /**
   * Update a tunnel group backend. Changes only the fields in the request; null counts as absent. A module in the
   * request is replaced as a whole. DELETE of the module removes it.
   */
  update(id: string, body: TunnelGroupBackendUpdate, options?: WriteOptions): Promise<Answer<TunnelGroupBackend>> {
    return this.call({ method: 'PATCH', path: '/backends/tunnel_group/{id}', params: { id }, body }, options);
  }

  /** Delete a tunnel group backend. Returns 409 if other resources refer to it; details.referred_by names them. */
  delete(id: string, options?: WriteOptions): Promise<ResponseInfo> {
    return this.callForNothing({ method: 'DELETE', path: '/backends/tunnel_group/{id}', params: { id } }, options);
  }
}
