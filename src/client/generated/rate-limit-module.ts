// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { RequestOptions, WriteOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface RateLimitModule {
  /** Whether the module is applied to traffic. Default: true. */
  readonly enabled: boolean;
  /**
   * Whether the limits are enforced. false rehearses them: every request passes and counts, and the log, the
   * metrics and the events report which would have been refused. Default: true.
   */
  readonly enforce: boolean;
  /**
   * 1 to 5 limits, all of which must have room for a request. A request that one of them refuses uses none of the
   * others that are asked with it. May be empty only while "enabled" is false.
   */
  readonly limits: readonly {
    /** How many requests may pass in each window, spread evenly: 1 to 1000000. */
    readonly limit: number;
    /** Length of the window in seconds: 1 to 86400. */
    readonly window_seconds: number;
    /** How many requests may arrive at once after a pause: up to 1000000. 0, the default: as many as "limit". */
    readonly burst?: number | undefined;
    /**
     * What is counted: "address" (IPv6: its /64), "user", "service_account" (or another program with a token),
     * "header:NAME", or "route" for all requests together. Without that person, program or header, the address
     * counts. A client chooses its headers. Default: "address".
     */
    readonly key?: string | undefined;
  }[];
}

export interface RateLimitModuleReplace {
  /** Whether the module is applied to traffic. Default: true. */
  readonly enabled?: boolean | undefined;
  /**
   * Whether the limits are enforced. false rehearses them: every request passes and counts, and the log, the
   * metrics and the events report which would have been refused. Default: true.
   */
  readonly enforce?: boolean | undefined;
  /**
   * 1 to 5 limits, all of which must have room for a request. A request that one of them refuses uses none of the
   * others that are asked with it. May be empty only while "enabled" is false.
   */
  readonly limits?:
    | readonly {
        /** How many requests may pass in each window, spread evenly: 1 to 1000000. */
        readonly limit: number;
        /** Length of the window in seconds: 1 to 86400. */
        readonly window_seconds: number;
        /** How many requests may arrive at once after a pause: up to 1000000. 0, the default: as many as "limit". */
        readonly burst?: number | undefined;
        /**
         * What is counted: "address" (IPv6: its /64), "user", "service_account" (or another program with a token),
         * "header:NAME", or "route" for all requests together. Without that person, program or header, the address
         * counts. A client chooses its headers. Default: "address".
         */
        readonly key?: string | undefined;
      }[]
    | undefined;
}

/**
 * Refuses requests beyond limits by address, person, program, header or route with 429. Each node counts for
 * itself.
 */
export class RateLimitModuleClient extends ResourceClient {
  /**
   * Replace the Rate limit module. Refuses requests beyond limits by address, person, program, header or route
   * with 429. Each node counts for itself. An omitted field is reset to its default.
   */
  replace(
    params: { readonly edge_id: string; readonly id: string },
    body: RateLimitModuleReplace = {},
    options?: WriteOptions,
  ): Promise<Answer<RateLimitModule>> {
    return this.call({ method: 'PUT', path: '/edges/https/{edge_id}/routes/{id}/rate_limit', params, body }, options);
  }

  /**
   * Get the Rate limit module. Refuses requests beyond limits by address, person, program, header or route with
   * 429. Each node counts for itself. Returns 404 if the module is not set.
   */
  get(
    params: { readonly edge_id: string; readonly id: string },
    options?: RequestOptions,
  ): Promise<Answer<RateLimitModule>> {
    return this.call({ method: 'GET', path: '/edges/https/{edge_id}/routes/{id}/rate_limit', params }, options);
  }

  /** Delete the Rate limit module. Succeeds without effect if the module is not set. */
  delete(params: { readonly edge_id: string; readonly id: string }, options?: WriteOptions): Promise<ResponseInfo> {
    return this.callForNothing(
      { method: 'DELETE', path: '/edges/https/{edge_id}/routes/{id}/rate_limit', params },
      options,
    );
  }
}
