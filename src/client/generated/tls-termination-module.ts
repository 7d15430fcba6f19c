// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { RequestOptions, WriteOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface TlsTerminationModule {
  /** Whether the module is applied to traffic. Default: true. */
  readonly enabled: boolean;
  /** The lowest TLS version that clients may use: "1.2" or "1.3". */
  readonly min_version: '1.2' | '1.3';
  /** Where TLS is terminated: always "edge". */
  readonly terminate_at: 'edge';
}

export interface TlsTerminationModuleReplace {
  /** Whether the module is applied to traffic. Default: true. */
  readonly enabled?: boolean | undefined;
  /** The lowest TLS version that clients may use: "1.2" or "1.3". */
  readonly min_version?: '1.2' | '1.3' | undefined;
}

/** Configures TLS termination at the edge. */
export class TlsTerminationModuleClient extends ResourceClient {
  /**
   * Replace the TLS termination module. Configures TLS termination at the edge. An omitted field is reset to its
   * default.
   */
  replace(
    id: string,
    body: TlsTerminationModuleReplace = {},
    options?: WriteOptions,
  ): Promise<Answer<TlsTerminationModule>> {
    return this.call({ method: 'PUT', path: '/edges/https/{id}/tls_termination', params: { id }, body }, options);
  }

  /** Get the TLS termination module. Configures TLS termination at the edge. Returns 404 if the module is not set. */
  get(id: string, options?: RequestOptions): Promise<Answer<TlsTerminationModule>> {
    return this.call({ method: 'GET', path: '/edges/https/{id}/tls_termination', params: { id } }, options);
  }

  /** Delete the TLS termination module. Succeeds without effect if the module is not set. */
  delete(id: string, options?: WriteOptions): Promise<ResponseInfo> {
    return this.callForNothing(
      { method: 'DELETE', path: '/edges/https/{id}/tls_termination', params: { id } },
      options,
    );
  }
}
