// Made from the schemas of src/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { ConditionalOptions, RequestOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface CompressionModule {
  /** True when the module is applied to traffic, false when it is disabled. True when left out. */
  readonly enabled: boolean;
}

export interface CompressionModuleReplace {
  /** True when the module is applied to traffic, false when it is disabled. True when left out. */
  readonly enabled?: boolean | undefined;
}

/** Compresses responses for clients that accept it. */
export class CompressionModuleClient extends ResourceClient {
  /**
   * Replace the Compression module. Compresses responses for clients that accept it. A field that is left out goes
   * back to its default.
   */
  replace(
    params: { readonly edge_id: string; readonly id: string },
    body: CompressionModuleReplace = {},
    options?: ConditionalOptions,
  ): Promise<Answer<CompressionModule>> {
    return this.call({ method: 'PUT', path: '/edges/https/{edge_id}/routes/{id}/compression', params, body }, options);
  }

  /**
   * Get the Compression module. Compresses responses for clients that accept it. A module that was never set, or
   * was deleted, is 404.
   */
  get(
    params: { readonly edge_id: string; readonly id: string },
    options?: RequestOptions,
  ): Promise<Answer<CompressionModule>> {
    return this.call({ method: 'GET', path: '/edges/https/{edge_id}/routes/{id}/compression', params }, options);
  }

  /** Delete the Compression module. Deleting a module that is not set changes nothing and is no error. */
  delete(
    params: { readonly edge_id: string; readonly id: string },
    options?: ConditionalOptions,
  ): Promise<ResponseInfo> {
    return this.callForNothing(
      { method: 'DELETE', path: '/edges/https/{edge_id}/routes/{id}/compression', params },
      options,
    );
  }
}
