// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { RequestOptions, WriteOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface OidcModule {
  /** Whether the module is applied to traffic. Default: true. */
  readonly enabled: boolean;
  /** Allow OPTIONS requests without a login, for CORS preflight requests. */
  readonly options_passthrough: boolean;
  /**
   * Prefix of the session cookie in the browser: characters of a cookie name (RFC 6265 token), such as "postern.".
   * Default, also for "": "postern.".
   */
  readonly cookie_prefix: string;
  /**
   * Seconds of inactivity after which the person must log in again, 0 to 4294967295. 0: the setting
   * login_inactivity_timeout applies.
   */
  readonly inactivity_timeout: number;
  /**
   * Seconds after which the person must log in again even if active, 0 to 4294967295. 0: the setting
   * login_maximum_duration applies.
   */
  readonly maximum_duration: number;
  /**
   * Issuer URL of the OpenID provider, the base of its discovery document: an absolute https URL without query or
   * fragment, such as "https://accounts.example.com".
   */
  readonly issuer: string;
  /**
   * Client ID at the provider, which is also the required audience of its tokens. Empty with the issuer of this
   * server (identity_host): the edge then has its own client there.
   */
  readonly client_id: string;
  /** Client secret at the provider. Encrypted at rest; reading it requires the scope secrets:read. */
  readonly client_secret: string;
  /**
   * Scopes to request from the provider, each without spaces. "openid" is always requested. Empty: those that the
   * access rules of the route need, such as email; with the issuer of this server and no client_id: openid, email,
   * profile and groups.
   */
  readonly scopes: readonly string[];
  /**
   * Parameters of the login request. A login that did not ask for them does not count on this route: the person
   * logs in again.
   */
  readonly login_parameters?:
    | {
        /**
         * What the provider shows even if it knows the browser: "login", "consent", "select_account", or several of them
         * separated by spaces. "": the provider decides.
         */
        readonly prompt: string;
        /**
         * The person must have entered their credentials at most this many seconds before the login, which the ID token
         * must confirm ("auth_time"). 0: at any time.
         */
        readonly max_age: number;
        /**
         * Authentication methods to ask for, the preferred one first. The provider may use another one and names it in
         * the claim "acr".
         */
        readonly acr_values: readonly string[];
        /** For Google: "offline" asks for a refresh token. "": not sent. */
        readonly access_type: string;
      }
    | undefined;
}

export interface OidcModuleReplace {
  /** Whether the module is applied to traffic. Default: true. */
  readonly enabled?: boolean | undefined;
  /** Allow OPTIONS requests without a login, for CORS preflight requests. */
  readonly options_passthrough?: boolean | undefined;
  /**
   * Prefix of the session cookie in the browser: characters of a cookie name (RFC 6265 token), such as "postern.".
   * Default, also for "": "postern.".
   */
  readonly cookie_prefix?: string | undefined;
  /**
   * Seconds of inactivity after which the person must log in again, 0 to 4294967295. 0: the setting
   * login_inactivity_timeout applies.
   */
  readonly inactivity_timeout?: number | undefined;
  /**
   * Seconds after which the person must log in again even if active, 0 to 4294967295. 0: the setting
   * login_maximum_duration applies.
   */
  readonly maximum_duration?: number | undefined;
  /**
   * Issuer URL of the OpenID provider, the base of its discovery document: an absolute https URL without query or
   * fragment, such as "https://accounts.example.com".
   */
  readonly issuer?: string | undefined;
  /**
   * Client ID at the provider, which is also the required audience of its tokens. Empty with the issuer of this
   * server (identity_host): the edge then has its own client there.
   */
  readonly client_id?: string | undefined;
  /** Client secret at the provider. Encrypted at rest; reading it requires the scope secrets:read. */
  readonly client_secret?: string | undefined;
  /**
   * Scopes to request from the provider, each without spaces. "openid" is always requested. Empty: those that the
   * access rules of the route need, such as email; with the issuer of this server and no client_id: openid, email,
   * profile and groups.
   */
  readonly scopes?: readonly string[] | undefined;
  /**
   * Parameters of the login request. A login that did not ask for them does not count on this route: the person
   * logs in again.
   */
  readonly login_parameters?:
    | {
        /**
         * What the provider shows even if it knows the browser: "login", "consent", "select_account", or several of them
         * separated by spaces. "": the provider decides.
         */
        readonly prompt?: string | undefined;
        /**
         * The person must have entered their credentials at most this many seconds before the login, which the ID token
         * must confirm ("auth_time"). 0: at any time.
         */
        readonly max_age?: number | undefined;
        /**
         * Authentication methods to ask for, the preferred one first. The provider may use another one and names it in
         * the claim "acr".
         */
        readonly acr_values?: readonly string[] | undefined;
        /** For Google: "offline" asks for a refresh token. "": not sent. */
        readonly access_type?: string | undefined;
      }
    | undefined;
}

/** Requires a login at an OpenID provider. */
export class OidcModuleClient extends ResourceClient {
  /** Replace the OIDC module. Requires a login at an OpenID provider. An omitted field is reset to its default. */
  replace(
    params: { readonly edge_id: string; readonly id: string },
    body: OidcModuleReplace = {},
    options?: WriteOptions,
  ): Promise<Answer<OidcModule>> {
    return this.call({ method: 'PUT', path: '/edges/https/{edge_id}/routes/{id}/oidc', params, body }, options);
  }

  /** Get the OIDC module. Requires a login at an OpenID provider. Returns 404 if the module is not set. */
  get(
    params: { readonly edge_id: string; readonly id: string },
    options?: RequestOptions,
  ): Promise<Answer<OidcModule>> {
    return this.call({ method: 'GET', path: '/edges/https/{edge_id}/routes/{id}/oidc', params }, options);
  }

  /** Delete the OIDC module. Succeeds without effect if the module is not set. */
  delete(params: { readonly edge_id: string; readonly id: string }, options?: WriteOptions): Promise<ResponseInfo> {
    return this.callForNothing({ method: 'DELETE', path: '/edges/https/{edge_id}/routes/{id}/oidc', params }, options);
  }
}
