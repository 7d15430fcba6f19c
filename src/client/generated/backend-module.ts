// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { Ref } from '../ref.ts';
import type { RequestOptions, WriteOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface BackendModule {
  /** Whether the module is applied to traffic. Default: true. */
  readonly enabled: boolean;
  /** Id of the backend, of any kind, that receives the requests of this route. */
  readonly backend: Ref;
}

export interface BackendModuleReplace {
  /** Whether the module is applied to traffic. Default: true. */
  readonly enabled?: boolean | undefined;
  /** Id of the backend, of any kind, that receives the requests of this route. */
  readonly backend_id: string;
}

/** Forwards requests to a backend. A route without an enabled backend module returns 503. */
export class BackendModuleClient extends ResourceClient {
  /**
   * Replace the Backend module. Forwards requests to a backend. A route without an enabled backend module returns
   * 503. An omitted field is reset to its default.
   */
  replace(
    params: { readonly edge_id: string; readonly id: string },
    body: BackendModuleReplace,
    options?: WriteOptions,
  ): Promise<Answer<BackendModule>> {
    return this.call({ method: 'PUT', path: '/edges/https/{edge_id}/routes/{id}/backend', params, body }, options);
  }

  /**
   * Get the Backend module. Forwards requests to a backend. A route without an enabled backend module returns 503.
   * Returns 404 if the module is not set.
   */
  get(
    params: { readonly edge_id: string; readonly id: string },
    options?: RequestOptions,
  ): Promise<Answer<BackendModule>> {
    return this.call({ method: 'GET', path: '/edges/https/{edge_id}/routes/{id}/backend', params }, options);
  }

  /** Delete the Backend module. Succeeds without effect if the module is not set. */
  delete(params: { readonly edge_id: string; readonly id: string }, options?: WriteOptions): Promise<ResponseInfo> {
    return this.callForNothing(
      { method: 'DELETE', path: '/edges/https/{edge_id}/routes/{id}/backend', params },
      options,
    );
  }
}
