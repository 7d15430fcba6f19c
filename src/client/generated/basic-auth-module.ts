// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { RequestOptions, WriteOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface BasicAuthModule {
  /** Whether the module is applied to traffic. Default: true. */
  readonly enabled: boolean;
  /** Allow OPTIONS requests without a password, for CORS preflight requests. */
  readonly options_passthrough: boolean;
  /** The users who may enter, at most 20. Empty: nobody may, except programs with a token and guests with a link. */
  readonly users: readonly {
    /** Name of the user, without a colon. Upper and lower case differ. */
    readonly username: string;
    /**
     * Password of 8 to 128 characters. Only a hash is stored, and it always reads as "". When "" is sent, the user
     * of this name keeps the password.
     */
    readonly password?: string | undefined;
  }[];
  /**
   * Name of the protected area, which some browsers show beside the question for the password: printable ASCII.
   * Default: "Restricted".
   */
  readonly realm: string;
}

export interface BasicAuthModuleReplace {
  /** Whether the module is applied to traffic. Default: true. */
  readonly enabled?: boolean | undefined;
  /** Allow OPTIONS requests without a password, for CORS preflight requests. */
  readonly options_passthrough?: boolean | undefined;
  /** The users who may enter, at most 20. Empty: nobody may, except programs with a token and guests with a link. */
  readonly users?:
    | readonly {
        /** Name of the user, without a colon. Upper and lower case differ. */
        readonly username: string;
        /**
         * Password of 8 to 128 characters. Only a hash is stored, and it always reads as "". When "" is sent, the user
         * of this name keeps the password.
         */
        readonly password?: string | undefined;
      }[]
    | undefined;
  /**
   * Name of the protected area, which some browsers show beside the question for the password: printable ASCII.
   * Default: "Restricted".
   */
  readonly realm?: string | undefined;
}

/** Requires a user name and a password (HTTP Basic authentication, RFC 7617). */
export class BasicAuthModuleClient extends ResourceClient {
  /**
   * Replace the Basic auth module. Requires a user name and a password (HTTP Basic authentication, RFC 7617). An
   * omitted field is reset to its default.
   */
  replace(
    params: { readonly edge_id: string; readonly id: string },
    body: BasicAuthModuleReplace = {},
    options?: WriteOptions,
  ): Promise<Answer<BasicAuthModule>> {
    return this.call({ method: 'PUT', path: '/edges/https/{edge_id}/routes/{id}/basic_auth', params, body }, options);
  }

  /**
   * Get the Basic auth module. Requires a user name and a password (HTTP Basic authentication, RFC 7617). Returns
   * 404 if the module is not set.
   */
  get(
    params: { readonly edge_id: string; readonly id: string },
    options?: RequestOptions,
  ): Promise<Answer<BasicAuthModule>> {
    return this.call({ method: 'GET', path: '/edges/https/{edge_id}/routes/{id}/basic_auth', params }, options);
  }

  /** Delete the Basic auth module. Succeeds without effect if the module is not set. */
  delete(params: { readonly edge_id: string; readonly id: string }, options?: WriteOptions): Promise<ResponseInfo> {
    return this.callForNothing(
      { method: 'DELETE', path: '/edges/https/{edge_id}/routes/{id}/basic_auth', params },
      options,
    );
  }
}
