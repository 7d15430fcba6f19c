// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { PageQuery } from '../page-query.ts';
import type { CreateOptions, RequestOptions, WriteOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface OidcClient {
  /** Id, starting with "oc_". */
  readonly id: string;
  /** URI of the resource. */
  readonly uri: string;
  /** When it was created. */
  readonly created_at: string;
  /** Free text for your own use; at most 255 characters. */
  readonly description: string;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata: string;
  /** Name of the application. People see it when they log in. */
  readonly name: string;
  /** Where logins may return to, compared letter by letter: https URLs, or http on 127.0.0.1, [::1] or localhost. */
  readonly redirect_uris: readonly string[];
  /** Where logouts may return to, in the same form. Default: none. */
  readonly post_logout_redirect_uris: readonly string[];
  /**
   * Where the application hears that a person was logged out (OpenID Connect Back-Channel Logout), in the same
   * form. Default: "".
   */
  readonly backchannel_logout_uri: string;
  /** Groups whose members may log in. "*" admits everybody with an account. Default: nobody. */
  readonly allow_groups: readonly string[];
  /**
   * Whether the application cannot keep a secret, such as a program on the devices of people: it has none then. It
   * cannot be changed later. Default: false.
   */
  readonly public: boolean;
  /** Client id: the id of the resource. */
  readonly client_id: string;
  /** Always null: only the response to the create shows it. */
  readonly client_secret: string | null;
}

export interface OidcClientCreated extends OidcClient {
  /** The client secret; null for a public client. Only this response shows it. */
  readonly client_secret: string | null;
}

export interface OidcClientCreate {
  /** Free text for your own use; at most 255 characters. */
  readonly description?: string | undefined;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata?: string | undefined;
  /** Name of the application. People see it when they log in. */
  readonly name: string;
  /** Where logins may return to, compared letter by letter: https URLs, or http on 127.0.0.1, [::1] or localhost. */
  readonly redirect_uris?: readonly string[] | undefined;
  /** Where logouts may return to, in the same form. Default: none. */
  readonly post_logout_redirect_uris?: readonly string[] | undefined;
  /**
   * Where the application hears that a person was logged out (OpenID Connect Back-Channel Logout), in the same
   * form. Default: "".
   */
  readonly backchannel_logout_uri?: string | undefined;
  /** Groups whose members may log in. "*" admits everybody with an account. Default: nobody. */
  readonly allow_groups?: readonly string[] | undefined;
  /**
   * Whether the application cannot keep a secret, such as a program on the devices of people: it has none then. It
   * cannot be changed later. Default: false.
   */
  readonly public?: boolean | undefined;
}

export interface OidcClientPage {
  /** The page, newest first. */
  readonly oidc_clients: readonly OidcClient[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

export interface OidcClientUpdate {
  /** Free text for your own use; at most 255 characters. */
  readonly description?: string | undefined;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata?: string | undefined;
  /** Name of the application. People see it when they log in. */
  readonly name?: string | undefined;
  /** Where logins may return to, compared letter by letter: https URLs, or http on 127.0.0.1, [::1] or localhost. */
  readonly redirect_uris?: readonly string[] | undefined;
  /** Where logouts may return to, in the same form. Default: none. */
  readonly post_logout_redirect_uris?: readonly string[] | undefined;
  /**
   * Where the application hears that a person was logged out (OpenID Connect Back-Channel Logout), in the same
   * form. Default: "".
   */
  readonly backchannel_logout_uri?: string | undefined;
  /** Groups whose members may log in. "*" admits everybody with an account. Default: nobody. */
  readonly allow_groups?: readonly string[] | undefined;
}

/**
 * An application at which people log in with their account of the identity host, by OpenID Connect: the code
 * flow with PKCE. Its secret is shown only once, in the response to the create, and stored as a hash. Edges need
 * no client: the oidc module of a route is one by itself.
 */
export class OidcClientsClient extends ResourceClient {
  /**
   * Create an OpenID client. An application at which people log in with their account of the identity host, by
   * OpenID Connect: the code flow with PKCE. Its secret is shown only once, in the response to the create, and
   * stored as a hash. Edges need no client: the oidc module of a route is one by itself.
   */
  create(body: OidcClientCreate, options?: CreateOptions): Promise<Answer<OidcClientCreated>> {
    return this.call({ method: 'POST', path: '/oidc_clients', body }, options);
  }

  /** List OpenID clients: every one, page after page. */
  list(query?: PageQuery, options?: RequestOptions): AsyncGenerator<OidcClient, void, undefined> {
    return this.eachItem({ method: 'GET', path: '/oidc_clients', query }, 'oidc_clients', options);
  }

  /** List OpenID clients: one page. */
  page(query?: PageQuery, options?: RequestOptions): Promise<Answer<OidcClientPage>> {
    return this.call({ method: 'GET', path: '/oidc_clients', query }, options);
  }

  /**
   * Get an OpenID client. An application at which people log in with their account of the identity host, by OpenID
   * Connect: the code flow with PKCE. Its secret is shown only once, in the response to the create, and stored as
   * a hash. Edges need no client: the oidc module of a route is one by itself.
   */
  get(id: string, options?: RequestOptions): Promise<Answer<OidcClient>> {
    return this.call({ method: 'GET', path: '/oidc_clients/{id}', params: { id } }, options);
  }

  /**
   * Update an OpenID client. Changes only the fields in the request; null counts as absent. A module in the
   * request is replaced as a whole. DELETE of the module removes it.
   */
  update(id: string, body: OidcClientUpdate, options?: WriteOptions): Promise<Answer<OidcClient>> {
    return this.call({ method: 'PATCH', path: '/oidc_clients/{id}', params: { id }, body }, options);
  }

  /** Delete an OpenID client. Returns 409 if other resources refer to it; details.referred_by names them. */
  delete(id: string, options?: WriteOptions): Promise<ResponseInfo> {
    return this.callForNothing({ method: 'DELETE', path: '/oidc_clients/{id}', params: { id } }, options);
  }
}
