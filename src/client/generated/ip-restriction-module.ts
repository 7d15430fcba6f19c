// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { Ref } from '../ref.ts';
import type { RequestOptions, WriteOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface IpRestrictionModule {
  /** Whether the module is applied to traffic. Default: true. */
  readonly enabled: boolean;
  /** Ids of 1 to 10 distinct IP policies. May be empty only while "enabled" is false. */
  readonly ip_policies: readonly Ref[];
}

export interface IpRestrictionModuleReplace {
  /** Whether the module is applied to traffic. Default: true. */
  readonly enabled?: boolean | undefined;
  /** Ids of 1 to 10 distinct IP policies. May be empty only while "enabled" is false. */
  readonly ip_policy_ids?: readonly string[] | undefined;
}

/**
 * Admits a client if an allow rule or allow list of the policies matches its address and no deny rule or deny
 * list does.
 */
export class IpRestrictionModuleClient extends ResourceClient {
  /**
   * Replace the IP restriction module. Admits a client if an allow rule or allow list of the policies matches its
   * address and no deny rule or deny list does. An omitted field is reset to its default.
   */
  replace(
    params: { readonly edge_id: string; readonly id: string },
    body: IpRestrictionModuleReplace = {},
    options?: WriteOptions,
  ): Promise<Answer<IpRestrictionModule>> {
    return this.call(
      { method: 'PUT', path: '/edges/https/{edge_id}/routes/{id}/ip_restriction', params, body },
      options,
    );
  }

  /**
   * Get the IP restriction module. Admits a client if an allow rule or allow list of the policies matches its
   * address and no deny rule or deny list does. Returns 404 if the module is not set.
   */
  get(
    params: { readonly edge_id: string; readonly id: string },
    options?: RequestOptions,
  ): Promise<Answer<IpRestrictionModule>> {
    return this.call({ method: 'GET', path: '/edges/https/{edge_id}/routes/{id}/ip_restriction', params }, options);
  }

  /** Delete the IP restriction module. Succeeds without effect if the module is not set. */
  delete(params: { readonly edge_id: string; readonly id: string }, options?: WriteOptions): Promise<ResponseInfo> {
    return this.callForNothing(
      { method: 'DELETE', path: '/edges/https/{edge_id}/routes/{id}/ip_restriction', params },
      options,
    );
  }
}
