// Made from the schemas of src/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { ConditionalOptions, RequestOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface OidcModule {
  /** True when the module is applied to traffic, false when it is disabled. True when left out. */
  readonly enabled: boolean;
  /** When true, login is not enforced on OPTIONS requests, which CORS preflights need. */
  readonly options_passthrough: boolean;
  /**
   * Prefix of the session cookie set on the browser: the characters of a cookie name (RFC 6265 token), such as
   * "postern.". Left out or "", the prefix is "postern.".
   */
  readonly cookie_prefix: string;
  /** Whole seconds without activity after which the user must log in again, 0 to 4294967295; 0 is no limit. */
  readonly inactivity_timeout: number;
  /** Whole seconds after which the user must log in again in any case, 0 to 4294967295; 0 is no limit. */
  readonly maximum_duration: number;
  /**
   * URL of the OpenID provider, the base of its discovery document: absolute, https, without query and fragment,
   * such as "https://accounts.example.com".
   */
  readonly issuer: string;
  /** Client ID of the app at the provider; also the audience that its tokens must have. */
  readonly client_id: string;
  /** Client secret of the app at the provider. Sealed at rest; reading it back needs the scope secrets:read. */
  readonly client_secret: string;
  /** Scopes to request from the provider, each a word without spaces. "openid" is requested in any case. */
  readonly scopes: readonly string[];
}

export interface OidcModuleReplace {
  /** True when the module is applied to traffic, false when it is disabled. True when left out. */
  readonly enabled?: boolean | undefined;
  /** When true, login is not enforced on OPTIONS requests, which CORS preflights need. */
  readonly options_passthrough?: boolean | undefined;
  /**
   * Prefix of the session cookie set on the browser: the characters of a cookie name (RFC 6265 token), such as
   * "postern.". Left out or "", the prefix is "postern.".
   */
  readonly cookie_prefix?: string | undefined;
  /** Whole seconds without activity after which the user must log in again, 0 to 4294967295; 0 is no limit. */
  readonly inactivity_timeout?: number | undefined;
  /** Whole seconds after which the user must log in again in any case, 0 to 4294967295; 0 is no limit. */
  readonly maximum_duration?: number | undefined;
  /**
   * URL of the OpenID provider, the base of its discovery document: absolute, https, without query and fragment,
   * such as "https://accounts.example.com".
   */
  readonly issuer?: string | undefined;
  /** Client ID of the app at the provider; also the audience that its tokens must have. */
  readonly client_id?: string | undefined;
  /** Client secret of the app at the provider. Sealed at rest; reading it back needs the scope secrets:read. */
  readonly client_secret?: string | undefined;
  /** Scopes to request from the provider, each a word without spaces. "openid" is requested in any case. */
  readonly scopes?: readonly string[] | undefined;
}

/** Lets only those through who have logged in at an OpenID provider. */
export class OidcModuleClient extends ResourceClient {
  /**
   * Replace the OIDC module. Lets only those through who have logged in at an OpenID provider. A field that is
   * left out goes back to its default.
   */
  replace(
    params: { readonly edge_id: string; readonly id: string },
    body: OidcModuleReplace = {},
    options?: ConditionalOptions,
  ): Promise<Answer<OidcModule>> {
    return this.call({ method: 'PUT', path: '/edges/https/{edge_id}/routes/{id}/oidc', params, body }, options);
  }

  /**
   * Get the OIDC module. Lets only those through who have logged in at an OpenID provider. A module that was never
   * set, or was deleted, is 404.
   */
  get(
    params: { readonly edge_id: string; readonly id: string },
    options?: RequestOptions,
  ): Promise<Answer<OidcModule>> {
    return this.call({ method: 'GET', path: '/edges/https/{edge_id}/routes/{id}/oidc', params }, options);
  }

  /** Delete the OIDC module. Deleting a module that is not set changes nothing and is no error. */
  delete(
    params: { readonly edge_id: string; readonly id: string },
    options?: ConditionalOptions,
  ): Promise<ResponseInfo> {
    return this.callForNothing({ method: 'DELETE', path: '/edges/https/{edge_id}/routes/{id}/oidc', params }, options);
  }
}
