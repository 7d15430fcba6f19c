// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { RequestOptions, WriteOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface MaintenanceModule {
  /** Whether the module is applied to traffic. Default: true. */
  readonly enabled: boolean;
  /** What visitors read: at most 500 characters. */
  readonly message: string;
  /** Seconds after which programs should try again, in the header Retry-After. 0: without it. Default: 600. */
  readonly retry_after: number;
  /**
   * Ranges of addresses that are let through, such as "203.0.113.7/32": at most 100. The other modules of the
   * route decide about them.
   */
  readonly allow_cidrs: readonly string[];
}

export interface MaintenanceModuleReplace {
  /** Whether the module is applied to traffic. Default: true. */
  readonly enabled?: boolean | undefined;
  /** What visitors read: at most 500 characters. */
  readonly message?: string | undefined;
  /** Seconds after which programs should try again, in the header Retry-After. 0: without it. Default: 600. */
  readonly retry_after?: number | undefined;
  /**
   * Ranges of addresses that are let through, such as "203.0.113.7/32": at most 100. The other modules of the
   * route decide about them.
   */
  readonly allow_cidrs?: readonly string[] | undefined;
}

/** Answers every request with 503 and a text, except those from listed addresses. */
export class MaintenanceModuleClient extends ResourceClient {
  /**
   * Replace the Maintenance module. Answers every request with 503 and a text, except those from listed addresses.
   * An omitted field is reset to its default.
   */
  replace(
    params: { readonly edge_id: string; readonly id: string },
    body: MaintenanceModuleReplace = {},
    options?: WriteOptions,
  ): Promise<Answer<MaintenanceModule>> {
    return this.call({ method: 'PUT', path: '/edges/https/{edge_id}/routes/{id}/maintenance', params, body }, options);
  }

  /**
   * Get the Maintenance module. Answers every request with 503 and a text, except those from listed addresses.
   * Returns 404 if the module is not set.
   */
  get(
    params: { readonly edge_id: string; readonly id: string },
    options?: RequestOptions,
  ): Promise<Answer<MaintenanceModule>> {
    return this.call({ method: 'GET', path: '/edges/https/{edge_id}/routes/{id}/maintenance', params }, options);
  }

  /** Delete the Maintenance module. Succeeds without effect if the module is not set. */
  delete(params: { readonly edge_id: string; readonly id: string }, options?: WriteOptions): Promise<ResponseInfo> {
    return this.callForNothing(
      { method: 'DELETE', path: '/edges/https/{edge_id}/routes/{id}/maintenance', params },
      options,
    );
  }
}
