// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { RequestOptions, WriteOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface CompressionModule {
  /** Whether the module is applied to traffic. Default: true. */
  readonly enabled: boolean;
}

export interface CompressionModuleReplace {
  /** Whether the module is applied to traffic. Default: true. */
  readonly enabled?: boolean | undefined;
}

/** Compresses responses for clients that accept compression. */
export class CompressionModuleClient extends ResourceClient {
  /**
   * Replace the Compression module. Compresses responses for clients that accept compression. An omitted field is
   * reset to its default.
   */
  replace(
    params: { readonly edge_id: string; readonly id: string },
    body: CompressionModuleReplace = {},
    options?: WriteOptions,
  ): Promise<Answer<CompressionModule>> {
    return this.call({ method: 'PUT', path: '/edges/https/{edge_id}/routes/{id}/compression', params, body }, options);
  }

  /**
   * Get the Compression module. Compresses responses for clients that accept compression. Returns 404 if the
   * module is not set.
   */
  get(
    params: { readonly edge_id: string; readonly id: string },
    options?: RequestOptions,
  ): Promise<Answer<CompressionModule>> {
    return this.call({ method: 'GET', path: '/edges/https/{edge_id}/routes/{id}/compression', params }, options);
  }

  /** Delete the Compression module. Succeeds without effect if the module is not set. */
  delete(params: { readonly edge_id: string; readonly id: string }, options?: WriteOptions): Promise<ResponseInfo> {
    return this.callForNothing(
      { method: 'DELETE', path: '/edges/https/{edge_id}/routes/{id}/compression', params },
      options,
    );
  }
}
