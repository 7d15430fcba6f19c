// Made from the schemas of src/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { Ref } from '../ref.ts';
import type { ConditionalOptions, RequestOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface BackendModule {
  /** True when the module is applied to traffic, false when it is disabled. True when left out. */
  readonly enabled: boolean;
  /** Id of the backend, of any kind, that answers the requests of this route. */
  readonly backend: Ref;
}

export interface BackendModuleReplace {
  /** True when the module is applied to traffic, false when it is disabled. True when left out. */
  readonly enabled?: boolean | undefined;
  /** Id of the backend, of any kind, that answers the requests of this route. */
  readonly backend_id: string;
}

/** Sends requests to a backend. A route without an enabled one answers 503. */
export class BackendModuleClient extends ResourceClient {
  /**
   * Replace the Backend module. Sends requests to a backend. A route without an enabled one answers 503. A field
   * that is left out goes back to its default.
   */
  replace(
    params: { readonly edge_id: string; readonly id: string },
    body: BackendModuleReplace,
    options?: ConditionalOptions,
  ): Promise<Answer<BackendModule>> {
    return this.call({ method: 'PUT', path: '/edges/https/{edge_id}/routes/{id}/backend', params, body }, options);
  }

  /**
   * Get the Backend module. Sends requests to a backend. A route without an enabled one answers 503. A module that
   * was never set, or was deleted, is 404.
   */
  get(
    params: { readonly edge_id: string; readonly id: string },
    options?: RequestOptions,
  ): Promise<Answer<BackendModule>> {
    return this.call({ method: 'GET', path: '/edges/https/{edge_id}/routes/{id}/backend', params }, options);
  }

  /** Delete the Backend module. Deleting a module that is not set changes nothing and is no error. */
  delete(
    params: { readonly edge_id: string; readonly id: string },
    options?: ConditionalOptions,
  ): Promise<ResponseInfo> {
    return this.callForNothing(
      { method: 'DELETE', path: '/edges/https/{edge_id}/routes/{id}/backend', params },
      options,
    );
  }
}
