// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { RequestOptions, WriteOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface UserAgentFilterModule {
  /** Whether the module is applied to traffic. Default: true. */
  readonly enabled: boolean;
  /**
   * Regular expressions in the syntax of RE2, such as "(?i)bot": at most 20, of up to 512 characters. A user agent
   * that one of them matches is allowed, whatever "deny" says. "^$" allows requests without a User-Agent.
   */
  readonly allow: readonly string[];
  /**
   * Regular expressions in the syntax of RE2, such as "(?i)bot": at most 20, of up to 512 characters. A user agent
   * that one of them matches is refused, unless "allow" matches.
   */
  readonly deny: readonly string[];
}

export interface UserAgentFilterModuleReplace {
  /** Whether the module is applied to traffic. Default: true. */
  readonly enabled?: boolean | undefined;
  /**
   * Regular expressions in the syntax of RE2, such as "(?i)bot": at most 20, of up to 512 characters. A user agent
   * that one of them matches is allowed, whatever "deny" says. "^$" allows requests without a User-Agent.
   */
  readonly allow?: readonly string[] | undefined;
  /**
   * Regular expressions in the syntax of RE2, such as "(?i)bot": at most 20, of up to 512 characters. A user agent
   * that one of them matches is refused, unless "allow" matches.
   */
  readonly deny?: readonly string[] | undefined;
}

/**
 * Refuses requests by their User-Agent: those that a pattern of "deny" matches and none of "allow", and those
 * without one.
 */
export class UserAgentFilterModuleClient extends ResourceClient {
  /**
   * Replace the User agent filter module. Refuses requests by their User-Agent: those that a pattern of "deny"
   * matches and none of "allow", and those without one. An omitted field is reset to its default.
   */
  replace(
    params: { readonly edge_id: string; readonly id: string },
    body: UserAgentFilterModuleReplace = {},
    options?: WriteOptions,
  ): Promise<Answer<UserAgentFilterModule>> {
    return this.call(
      { method: 'PUT', path: '/edges/https/{edge_id}/routes/{id}/user_agent_filter', params, body },
      options,
    );
  }

  /**
   * Get the User agent filter module. Refuses requests by their User-Agent: those that a pattern of "deny" matches
   * and none of "allow", and those without one. Returns 404 if the module is not set.
   */
  get(
    params: { readonly edge_id: string; readonly id: string },
    options?: RequestOptions,
  ): Promise<Answer<UserAgentFilterModule>> {
    return this.call({ method: 'GET', path: '/edges/https/{edge_id}/routes/{id}/user_agent_filter', params }, options);
  }

  /** Delete the User agent filter module. Succeeds without effect if the module is not set. */
  delete(params: { readonly edge_id: string; readonly id: string }, options?: WriteOptions): Promise<ResponseInfo> {
    return this.callForNothing(
      { method: 'DELETE', path: '/edges/https/{edge_id}/routes/{id}/user_agent_filter', params },
      options,
    );
  }
}
