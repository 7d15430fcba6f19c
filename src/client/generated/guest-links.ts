// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { PageQuery } from '../page-query.ts';
import type { CreateOptions, RequestOptions, WriteOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface GuestLink {
  /** Id, starting with "gl_". */
  readonly id: string;
  /** URI of the resource. */
  readonly uri: string;
  /** When it was created. */
  readonly created_at: string;
  /** Free text for your own use; at most 255 characters. */
  readonly description: string;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata: string;
  /** Id of the HTTPS edge. It cannot be changed later. */
  readonly edge_id: string;
  /** Id of the route of that edge that the guest may use. It cannot be changed later. */
  readonly route_id: string;
  /** Name of the guest or the occasion, for your own use. The guest does not see it. */
  readonly label: string;
  /** E-mail address of the guest, for your own use. No access rule matches it, and it is not sent upstream. */
  readonly email: string;
  /** When the link and the sessions of its guests end, in RFC 3339 format. At most 90 days from now. */
  readonly expires_at: string;
  /**
   * Host of the edge that the link opens. Required when the edge has several hosts or a wildcard. It cannot be
   * changed later.
   */
  readonly host: string;
  /** How many browsers may redeem the link, 1 to 1000. Default: 1. A browser that redeemed it may open it again. */
  readonly max_browsers: number;
  /** The browsers that redeemed the link, first one first. */
  readonly used_by: readonly {
    /** Id of the login session of that browser, starting with "as_". */
    readonly session: string;
    /** When the link was redeemed. */
    readonly at: string;
    /** Client address of the guest. */
    readonly ip_address: string;
    /** The User-Agent header of the browser. */
    readonly user_agent: string;
  }[];
  /** Always null: only the response to the create shows it. */
  readonly url: string | null;
}

export interface GuestLinkCreated extends GuestLink {
  /** The link for the guest. Only this response shows it. */
  readonly url: string;
}

export interface GuestLinkCreate {
  /** Free text for your own use; at most 255 characters. */
  readonly description?: string | undefined;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata?: string | undefined;
  /** Id of the HTTPS edge. It cannot be changed later. */
  readonly edge_id: string;
  /** Id of the route of that edge that the guest may use. It cannot be changed later. */
  readonly route_id: string;
  /** Name of the guest or the occasion, for your own use. The guest does not see it. */
  readonly label?: string | undefined;
  /** E-mail address of the guest, for your own use. No access rule matches it, and it is not sent upstream. */
  readonly email?: string | undefined;
  /** When the link and the sessions of its guests end, in RFC 3339 format. At most 90 days from now. */
  readonly expires_at: string;
  /**
   * Host of the edge that the link opens. Required when the edge has several hosts or a wildcard. It cannot be
   * changed later.
   */
  readonly host?: string | undefined;
  /** How many browsers may redeem the link, 1 to 1000. Default: 1. A browser that redeemed it may open it again. */
  readonly max_browsers?: number | undefined;
}

export interface GuestLinkPage {
  /** The page, newest first. */
  readonly guest_links: readonly GuestLink[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

export interface GuestLinkUpdate {
  /** Free text for your own use; at most 255 characters. */
  readonly description?: string | undefined;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata?: string | undefined;
  /** Name of the guest or the occasion, for your own use. The guest does not see it. */
  readonly label?: string | undefined;
  /** E-mail address of the guest, for your own use. No access rule matches it, and it is not sent upstream. */
  readonly email?: string | undefined;
  /** When the link and the sessions of its guests end, in RFC 3339 format. At most 90 days from now. */
  readonly expires_at?: string | undefined;
  /** How many browsers may redeem the link, 1 to 1000. Default: 1. A browser that redeemed it may open it again. */
  readonly max_browsers?: number | undefined;
}

/**
 * A link that lets a guest without an account use a route whose access module allows guests. Its URL is shown
 * only once, in the response to the create, and its secret is stored as a hash. Deleting the link ends the
 * sessions of its guests; so does deleting the route or the edge.
 */
export class GuestLinksClient extends ResourceClient {
  /**
   * Create a guest link. A link that lets a guest without an account use a route whose access module allows
   * guests. Its URL is shown only once, in the response to the create, and its secret is stored as a hash.
   * Deleting the link ends the sessions of its guests; so does deleting the route or the edge.
   */
  create(body: GuestLinkCreate, options?: CreateOptions): Promise<Answer<GuestLinkCreated>> {
    return this.call({ method: 'POST', path: '/guest_links', body }, options);
  }

  /** List guest links: every one, page after page. */
  list(query?: PageQuery, options?: RequestOptions): AsyncGenerator<GuestLink, void, undefined> {
    return this.eachItem({ method: 'GET', path: '/guest_links', query }, 'guest_links', options);
  }

  /** List guest links: one page. */
  page(query?: PageQuery, options?: RequestOptions): Promise<Answer<GuestLinkPage>> {
    return this.call({ method: 'GET', path: '/guest_links', query }, options);
  }

  /**
   * Get a guest link. A link that lets a guest without an account use a route whose access module allows guests.
   * Its URL is shown only once, in the response to the create, and its secret is stored as a hash. Deleting the
   * link ends the sessions of its guests; so does deleting the route or the edge.
   */
  get(id: string, options?: RequestOptions): Promise<Answer<GuestLink>> {
    return this.call({ method: 'GET', path: '/guest_links/{id}', params: { id } }, options);
  }

  /**
   * Update a guest link. Changes only the fields in the request; null counts as absent. A module in the request is
   * replaced as a whole. DELETE of the module removes it.
   */
  update(id: string, body: GuestLinkUpdate, options?: WriteOptions): Promise<Answer<GuestLink>> {
    return this.call({ method: 'PATCH', path: '/guest_links/{id}', params: { id }, body }, options);
  }

  /** Delete a guest link. Returns 409 if other resources refer to it; details.referred_by names them. */
  delete(id: string, options?: WriteOptions): Promise<ResponseInfo> {
    return this.callForNothing({ method: 'DELETE', path: '/guest_links/{id}', params: { id } }, options);
  }
}
