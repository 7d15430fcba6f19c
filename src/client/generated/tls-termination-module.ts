// Made from the schemas of src/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { ConditionalOptions, RequestOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface TlsTerminationModule {
  /** True when the module is applied to traffic, false when it is disabled. True when left out. */
  readonly enabled: boolean;
  /** The lowest TLS version that clients may use: "1.2" or "1.3". */
  readonly min_version: '1.2' | '1.3';
  /** Where TLS ends: always "edge". */
  readonly terminate_at: 'edge';
}

export interface TlsTerminationModuleReplace {
  /** True when the module is applied to traffic, false when it is disabled. True when left out. */
  readonly enabled?: boolean | undefined;
  /** The lowest TLS version that clients may use: "1.2" or "1.3". */
  readonly min_version?: '1.2' | '1.3' | undefined;
}

/** Sets how TLS is terminated at the edge. */
export class TlsTerminationModuleClient extends ResourceClient {
  /**
   * Replace the TLS termination module. Sets how TLS is terminated at the edge. A field that is left out goes back
   * to its default.
   */
  replace(
    id: string,
    body: TlsTerminationModuleReplace = {},
    options?: ConditionalOptions,
  ): Promise<Answer<TlsTerminationModule>> {
    return this.call({ method: 'PUT', path: '/edges/https/{id}/tls_termination', params: { id }, body }, options);
  }

  /**
   * Get the TLS termination module. Sets how TLS is terminated at the edge. A module that was never set, or was
   * deleted, is 404.
   */
  get(id: string, options?: RequestOptions): Promise<Answer<TlsTerminationModule>> {
    return this.call({ method: 'GET', path: '/edges/https/{id}/tls_termination', params: { id } }, options);
  }

  /** Delete the TLS termination module. Deleting a module that is not set changes nothing and is no error. */
  delete(id: string, options?: ConditionalOptions): Promise<ResponseInfo> {
    return this.callForNothing(
      { method: 'DELETE', path: '/edges/https/{id}/tls_termination', params: { id } },
      options,
    );
  }
}
