// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { RequestOptions, WriteOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface CircuitBreakerModule {
  /** Whether the module is applied to traffic. Default: true. */
  readonly enabled: boolean;
  /**
   * Share of failed requests from which the circuit opens, from 0.0 to 1.0: 0.5 is one half. With 0, a single
   * failure is enough.
   */
  readonly error_threshold_percentage: number;
  /** Seconds for which an open circuit refuses all requests, before a request may probe the backend. Default: 10. */
  readonly tripped_duration: number;
  /** Seconds over which requests are counted. Default: 10. */
  readonly rolling_window: number;
  /** Number of parts of the window: the oldest part is forgotten at a time. Default: 10. */
  readonly num_buckets: number;
  /** Requests in the window below which the circuit stays closed. Default: 20. */
  readonly volume_threshold: number;
  /**
   * The circuit on the node that responds: "closed" (requests pass), "open" (they are refused) or "half_open" (one
   * at a time probes the backend). Read-only: a value that is sent is ignored.
   */
  readonly state?: 'closed' | 'open' | 'half_open' | undefined;
}

export interface CircuitBreakerModuleReplace {
  /** Whether the module is applied to traffic. Default: true. */
  readonly enabled?: boolean | undefined;
  /**
   * Share of failed requests from which the circuit opens, from 0.0 to 1.0: 0.5 is one half. With 0, a single
   * failure is enough.
   */
  readonly error_threshold_percentage: number;
  /** Seconds for which an open circuit refuses all requests, before a request may probe the backend. Default: 10. */
  readonly tripped_duration?: number | undefined;
  /** Seconds over which requests are counted. Default: 10. */
  readonly rolling_window?: number | undefined;
  /** Number of parts of the window: the oldest part is forgotten at a time. Default: 10. */
  readonly num_buckets?: number | undefined;
  /** Requests in the window below which the circuit stays closed. Default: 20. */
  readonly volume_threshold?: number | undefined;
}

/**
 * Refuses requests with 503 for a while after too many requests to the backend have failed. Each node counts for
 * itself.
 */
export class CircuitBreakerModuleClient extends ResourceClient {
  /**
   * Replace the Circuit breaker module. Refuses requests with 503 for a while after too many requests to the
   * backend have failed. Each node counts for itself. An omitted field is reset to its default.
   */
  replace(
    params: { readonly edge_id: string; readonly id: string },
    body: CircuitBreakerModuleReplace,
    options?: WriteOptions,
  ): Promise<Answer<CircuitBreakerModule>> {
    return this.call(
      { method: 'PUT', path: '/edges/https/{edge_id}/routes/{id}/circuit_breaker', params, body },
      options,
    );
  }

  /**
   * Get the Circuit breaker module. Refuses requests with 503 for a while after too many requests to the backend
   * have failed. Each node counts for itself. Returns 404 if the module is not set.
   */
  get(
    params: { readonly edge_id: string; readonly id: string },
    options?: RequestOptions,
  ): Promise<Answer<CircuitBreakerModule>> {
    return this.call({ method: 'GET', path: '/edges/https/{edge_id}/routes/{id}/circuit_breaker', params }, options);
  }

  /** Delete the Circuit breaker module. Succeeds without effect if the module is not set. */
  delete(params: { readonly edge_id: string; readonly id: string }, options?: WriteOptions): Promise<ResponseInfo> {
    return this.callForNothing(
      { method: 'DELETE', path: '/edges/https/{edge_id}/routes/{id}/circuit_breaker', params },
      options,
    );
  }
}
