// Made from the schemas of src/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { Ref } from '../ref.ts';
import type { ConditionalOptions, RequestOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface IpRestrictionModule {
  /** True when the module is applied to traffic, false when it is disabled. True when left out. */
  readonly enabled: boolean;
  /**
   * Ids of the IP policies, 1 to 10 and none twice, whose rules decide. May be empty only while "enabled" is
   * false.
   */
  readonly ip_policies: readonly Ref[];
}

export interface IpRestrictionModuleReplace {
  /** True when the module is applied to traffic, false when it is disabled. True when left out. */
  readonly enabled?: boolean | undefined;
  /**
   * Ids of the IP policies, 1 to 10 and none twice, whose rules decide. May be empty only while "enabled" is
   * false.
   */
  readonly ip_policy_ids?: readonly string[] | undefined;
}

/** Lets a client through when an allow rule of the named policies matches its address and no deny rule does. */
export class IpRestrictionModuleClient extends ResourceClient {
  /**
   * Replace the IP restriction module. Lets a client through when an allow rule of the named policies matches its
   * address and no deny rule does. A field that is left out goes back to its default.
   */
  replace(
    params: { readonly edge_id: string; readonly id: string },
    body: IpRestrictionModuleReplace = {},
    options?: ConditionalOptions,
  ): Promise<Answer<IpRestrictionModule>> {
    return this.call(
      { method: 'PUT', path: '/edges/https/{edge_id}/routes/{id}/ip_restriction', params, body },
      options,
    );
  }

  /**
   * Get the IP restriction module. Lets a client through when an allow rule of the named policies matches its
   * address and no deny rule does. A module that was never set, or was deleted, is 404.
   */
  get(
    params: { readonly edge_id: string; readonly id: string },
    options?: RequestOptions,
  ): Promise<Answer<IpRestrictionModule>> {
    return this.call({ method: 'GET', path: '/edges/https/{edge_id}/routes/{id}/ip_restriction', params }, options);
  }

  /** Delete the IP restriction module. Deleting a module that is not set changes nothing and is no error. */
  delete(
    params: { readonly edge_id: string; readonly id: string },
    options?: ConditionalOptions,
  ): Promise<ResponseInfo> {
    return this.callForNothing(
      { method: 'DELETE', path: '/edges/https/{edge_id}/routes/{id}/ip_restriction', params },
      options,
    );
  }
}
