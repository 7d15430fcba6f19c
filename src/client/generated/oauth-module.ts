// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { RequestOptions, WriteOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface OauthModule {
  /** Whether the module is applied to traffic. Default: true. */
  readonly enabled: boolean;
  /** Exactly one provider. */
  readonly provider: {
    /** A login at amazon, or null. */
    readonly amazon: {
      /** Client ID of your application at the provider. */
      readonly client_id: string;
      /** Client secret of your application. Encrypted at rest; reading it requires the scope secrets:read. */
      readonly client_secret: string;
      /** Scopes to request. Empty: those that the login and the rules need. */
      readonly scopes: readonly string[];
      /** Email addresses that may enter, in lower case. */
      readonly email_addresses: readonly string[];
      /** Domains of email addresses that may enter, in lower case. Subdomains are not included. */
      readonly email_domains: readonly string[];
    } | null;
    /** A login at facebook, or null. */
    readonly facebook: {
      /** Client ID of your application at the provider. */
      readonly client_id: string;
      /** Client secret of your application. Encrypted at rest; reading it requires the scope secrets:read. */
      readonly client_secret: string;
      /** Scopes to request. Empty: those that the login and the rules need. */
      readonly scopes: readonly string[];
      /** Email addresses that may enter, in lower case. */
      readonly email_addresses: readonly string[];
      /** Domains of email addresses that may enter, in lower case. Subdomains are not included. */
      readonly email_domains: readonly string[];
    } | null;
    /** A login at github, or null. */
    readonly github: {
      /** Client ID of your application at the provider. */
      readonly client_id: string;
      /** Client secret of your application. Encrypted at rest; reading it requires the scope secrets:read. */
      readonly client_secret: string;
      /** Scopes to request. Empty: those that the login and the rules need. */
      readonly scopes: readonly string[];
      /** Email addresses that may enter, in lower case. */
      readonly email_addresses: readonly string[];
      /** Domains of email addresses that may enter, in lower case. Subdomains are not included. */
      readonly email_domains: readonly string[];
      /** GitHub teams whose members may enter: "organization/team", or the id of a team. */
      readonly teams: readonly string[];
      /** GitHub organizations whose members may enter. */
      readonly organizations: readonly string[];
    } | null;
    /** A login at gitlab, or null. */
    readonly gitlab: {
      /** Client ID of your application at the provider. */
      readonly client_id: string;
      /** Client secret of your application. Encrypted at rest; reading it requires the scope secrets:read. */
      readonly client_secret: string;
      /** Scopes to request. Empty: those that the login and the rules need. */
      readonly scopes: readonly string[];
      /** Email addresses that may enter, in lower case. */
      readonly email_addresses: readonly string[];
      /** Domains of email addresses that may enter, in lower case. Subdomains are not included. */
      readonly email_domains: readonly string[];
    } | null;
    /** A login at google, or null. */
    readonly google: {
      /** Client ID of your application at the provider. */
      readonly client_id: string;
      /** Client secret of your application. Encrypted at rest; reading it requires the scope secrets:read. */
      readonly client_secret: string;
      /** Scopes to request. Empty: those that the login and the rules need. */
      readonly scopes: readonly string[];
      /** Email addresses that may enter, in lower case. */
      readonly email_addresses: readonly string[];
      /** Domains of email addresses that may enter, in lower case. Subdomains are not included. */
      readonly email_domains: readonly string[];
    } | null;
    /** A login at linkedin, or null. */
    readonly linkedin: {
      /** Client ID of your application at the provider. */
      readonly client_id: string;
      /** Client secret of your application. Encrypted at rest; reading it requires the scope secrets:read. */
      readonly client_secret: string;
      /** Scopes to request. Empty: those that the login and the rules need. */
      readonly scopes: readonly string[];
      /** Email addresses that may enter, in lower case. */
      readonly email_addresses: readonly string[];
      /** Domains of email addresses that may enter, in lower case. Subdomains are not included. */
      readonly email_domains: readonly string[];
    } | null;
    /** A login at microsoft, or null. */
    readonly microsoft: {
      /** Client ID of your application at the provider. */
      readonly client_id: string;
      /** Client secret of your application. Encrypted at rest; reading it requires the scope secrets:read. */
      readonly client_secret: string;
      /** Scopes to request. Empty: those that the login and the rules need. */
      readonly scopes: readonly string[];
      /** Email addresses that may enter, in lower case. */
      readonly email_addresses: readonly string[];
      /** Domains of email addresses that may enter, in lower case. Subdomains are not included. */
      readonly email_domains: readonly string[];
    } | null;
    /** A login at twitch, or null. */
    readonly twitch: {
      /** Client ID of your application at the provider. */
      readonly client_id: string;
      /** Client secret of your application. Encrypted at rest; reading it requires the scope secrets:read. */
      readonly client_secret: string;
      /** Scopes to request. Empty: those that the login and the rules need. */
      readonly scopes: readonly string[];
      /** Email addresses that may enter, in lower case. */
      readonly email_addresses: readonly string[];
      /** Domains of email addresses that may enter, in lower case. Subdomains are not included. */
      readonly email_domains: readonly string[];
    } | null;
  };
  /** Allow OPTIONS requests without a login, for CORS preflight requests. */
  readonly options_passthrough: boolean;
  /**
   * Prefix of the session cookie in the browser: characters of a cookie name (RFC 6265 token), such as "postern.".
   * Default, also for "": "postern.".
   */
  readonly cookie_prefix: string;
  /**
   * Seconds of inactivity after which the person must log in again, 0 to 31536000. 0: the setting
   * login_inactivity_timeout applies.
   */
  readonly inactivity_timeout: number;
  /**
   * Seconds after which the person must log in again even if active, 0 to 4294967295. 0: the setting
   * login_maximum_duration applies.
   */
  readonly maximum_duration: number;
  /**
   * Seconds after which the provider is asked again about the person, and the rules are evaluated again: 0, or 60
   * to 31536000. 0: only at the login.
   */
  readonly auth_check_interval: number;
}

export interface OauthModuleReplace {
  /** Whether the module is applied to traffic. Default: true. */
  readonly enabled?: boolean | undefined;
  /** Exactly one provider. */
  readonly provider: {
    /** A login at amazon, or null. */
    readonly amazon?:
      | {
          /** Client ID of your application at the provider. */
          readonly client_id?: string | undefined;
          /** Client secret of your application. Encrypted at rest; reading it requires the scope secrets:read. */
          readonly client_secret?: string | undefined;
          /** Scopes to request. Empty: those that the login and the rules need. */
          readonly scopes?: readonly string[] | undefined;
          /** Email addresses that may enter, in lower case. */
          readonly email_addresses?: readonly string[] | undefined;
          /** Domains of email addresses that may enter, in lower case. Subdomains are not included. */
          readonly email_domains?: readonly string[] | undefined;
        }
      | undefined;
    /** A login at facebook, or null. */
    readonly facebook?:
      | {
          /** Client ID of your application at the provider. */
          readonly client_id?: string | undefined;
          /** Client secret of your application. Encrypted at rest; reading it requires the scope secrets:read. */
          readonly client_secret?: string | undefined;
          /** Scopes to request. Empty: those that the login and the rules need. */
          readonly scopes?: readonly string[] | undefined;
          /** Email addresses that may enter, in lower case. */
          readonly email_addresses?: readonly string[] | undefined;
          /** Domains of email addresses that may enter, in lower case. Subdomains are not included. */
          readonly email_domains?: readonly string[] | undefined;
        }
      | undefined;
    /** A login at github, or null. */
    readonly github?:
      | {
          /** Client ID of your application at the provider. */
          readonly client_id?: string | undefined;
          /** Client secret of your application. Encrypted at rest; reading it requires the scope secrets:read. */
          readonly client_secret?: string | undefined;
          /** Scopes to request. Empty: those that the login and the rules need. */
          readonly scopes?: readonly string[] | undefined;
          /** Email addresses that may enter, in lower case. */
          readonly email_addresses?: readonly string[] | undefined;
          /** Domains of email addresses that may enter, in lower case. Subdomains are not included. */
          readonly email_domains?: readonly string[] | undefined;
          /** GitHub teams whose members may enter: "organization/team", or the id of a team. */
          readonly teams?: readonly string[] | undefined;
          /** GitHub organizations whose members may enter. */
          readonly organizations?: readonly string[] | undefined;
        }
      | undefined;
    /** A login at gitlab, or null. */
    readonly gitlab?:
      | {
          /** Client ID of your application at the provider. */
          readonly client_id?: string | undefined;
          /** Client secret of your application. Encrypted at rest; reading it requires the scope secrets:read. */
          readonly client_secret?: string | undefined;
          /** Scopes to request. Empty: those that the login and the rules need. */
          readonly scopes?: readonly string[] | undefined;
          /** Email addresses that may enter, in lower case. */
          readonly email_addresses?: readonly string[] | undefined;
          /** Domains of email addresses that may enter, in lower case. Subdomains are not included. */
          readonly email_domains?: readonly string[] | undefined;
        }
      | undefined;
    /** A login at google, or null. */
    readonly google?:
      | {
          /** Client ID of your application at the provider. */
          readonly client_id?: string | undefined;
          /** Client secret of your application. Encrypted at rest; reading it requires the scope secrets:read. */
          readonly client_secret?: string | undefined;
          /** Scopes to request. Empty: those that the login and the rules need. */
          readonly scopes?: readonly string[] | undefined;
          /** Email addresses that may enter, in lower case. */
          readonly email_addresses?: readonly string[] | undefined;
          /** Domains of email addresses that may enter, in lower case. Subdomains are not included. */
          readonly email_domains?: readonly string[] | undefined;
        }
      | undefined;
    /** A login at linkedin, or null. */
    readonly linkedin?:
      | {
          /** Client ID of your application at the provider. */
          readonly client_id?: string | undefined;
          /** Client secret of your application. Encrypted at rest; reading it requires the scope secrets:read. */
          readonly client_secret?: string | undefined;
          /** Scopes to request. Empty: those that the login and the rules need. */
          readonly scopes?: readonly string[] | undefined;
          /** Email addresses that may enter, in lower case. */
          readonly email_addresses?: readonly string[] | undefined;
          /** Domains of email addresses that may enter, in lower case. Subdomains are not included. */
          readonly email_domains?: readonly string[] | undefined;
        }
      | undefined;
    /** A login at microsoft, or null. */
    readonly microsoft?:
      | {
          /** Client ID of your application at the provider. */
          readonly client_id?: string | undefined;
          /** Client secret of your application. Encrypted at rest; reading it requires the scope secrets:read. */
          readonly client_secret?: string | undefined;
          /** Scopes to request. Empty: those that the login and the rules need. */
          readonly scopes?: readonly string[] | undefined;
          /** Email addresses that may enter, in lower case. */
          readonly email_addresses?: readonly string[] | undefined;
          /** Domains of email addresses that may enter, in lower case. Subdomains are not included. */
          readonly email_domains?: readonly string[] | undefined;
        }
      | undefined;
    /** A login at twitch, or null. */
    readonly twitch?:
      | {
          /** Client ID of your application at the provider. */
          readonly client_id?: string | undefined;
          /** Client secret of your application. Encrypted at rest; reading it requires the scope secrets:read. */
          readonly client_secret?: string | undefined;
          /** Scopes to request. Empty: those that the login and the rules need. */
          readonly scopes?: readonly string[] | undefined;
          /** Email addresses that may enter, in lower case. */
          readonly email_addresses?: readonly string[] | undefined;
          /** Domains of email addresses that may enter, in lower case. Subdomains are not included. */
          readonly email_domains?: readonly string[] | undefined;
        }
      | undefined;
  };
  /** Allow OPTIONS requests without a login, for CORS preflight requests. */
  readonly options_passthrough?: boolean | undefined;
  /**
   * Prefix of the session cookie in the browser: characters of a cookie name (RFC 6265 token), such as "postern.".
   * Default, also for "": "postern.".
   */
  readonly cookie_prefix?: string | undefined;
  /**
   * Seconds of inactivity after which the person must log in again, 0 to 31536000. 0: the setting
   * login_inactivity_timeout applies.
   */
  readonly inactivity_timeout?: number | undefined;
  /**
   * Seconds after which the person must log in again even if active, 0 to 4294967295. 0: the setting
   * login_maximum_duration applies.
   */
  readonly maximum_duration?: number | undefined;
  /**
   * Seconds after which the provider is asked again about the person, and the rules are evaluated again: 0, or 60
   * to 31536000. 0: only at the login.
   */
  readonly auth_check_interval?: number | undefined;
}

/** Requires a login at Amazon, Facebook, GitHub, GitLab, Google, LinkedIn, Microsoft or Twitch. */
export class OauthModuleClient extends ResourceClient {
  /**
   * Replace the OAuth module. Requires a login at Amazon, Facebook, GitHub, GitLab, Google, LinkedIn, Microsoft or
   * Twitch. An omitted field is reset to its default.
   */
  replace(
    params: { readonly edge_id: string; readonly id: string },
    body: OauthModuleReplace,
    options?: WriteOptions,
  ): Promise<Answer<OauthModule>> {
    return this.call({ method: 'PUT', path: '/edges/https/{edge_id}/routes/{id}/oauth', params, body }, options);
  }

  /**
   * Get the OAuth module. Requires a login at Amazon, Facebook, GitHub, GitLab, Google, LinkedIn, Microsoft or
   * Twitch. Returns 404 if the module is not set.
   */
  get(
    params: { readonly edge_id: string; readonly id: string },
    options?: RequestOptions,
  ): Promise<Answer<OauthModule>> {
    return this.call({ method: 'GET', path: '/edges/https/{edge_id}/routes/{id}/oauth', params }, options);
  }

  /** Delete the OAuth module. Succeeds without effect if the module is not set. */
  delete(params: { readonly edge_id: string; readonly id: string }, options?: WriteOptions): Promise<ResponseInfo> {
    return this.callForNothing({ method: 'DELETE', path: '/edges/https/{edge_id}/routes/{id}/oauth', params }, options);
  }
}
