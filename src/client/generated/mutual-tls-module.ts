// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { Ref } from '../ref.ts';
import type { RequestOptions, WriteOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface MutualTlsModule {
  /** Whether the module is applied to traffic. Default: true. */
  readonly enabled: boolean;
  /**
   * Ids of 1 to 10 distinct certificate authorities against which client certificates are verified. May be empty
   * only while "enabled" is false.
   */
  readonly certificate_authorities: readonly Ref[];
}

export interface MutualTlsModuleReplace {
  /** Whether the module is applied to traffic. Default: true. */
  readonly enabled?: boolean | undefined;
  /**
   * Ids of 1 to 10 distinct certificate authorities against which client certificates are verified. May be empty
   * only while "enabled" is false.
   */
  readonly certificate_authority_ids?: readonly string[] | undefined;
}

/** Requires a client certificate issued by one of the listed certificate authorities. */
export class MutualTlsModuleClient extends ResourceClient {
  /**
   * Replace the Mutual TLS module. Requires a client certificate issued by one of the listed certificate
   * authorities. An omitted field is reset to its default.
   */
  replace(id: string, body: MutualTlsModuleReplace = {}, options?: WriteOptions): Promise<Answer<MutualTlsModule>> {
    return this.call({ method: 'PUT', path: '/edges/https/{id}/mutual_tls', params: { id }, body }, options);
  }

  /**
   * Get the Mutual TLS module. Requires a client certificate issued by one of the listed certificate authorities.
   * Returns 404 if the module is not set.
   */
  get(id: string, options?: RequestOptions): Promise<Answer<MutualTlsModule>> {
    return this.call({ method: 'GET', path: '/edges/https/{id}/mutual_tls', params: { id } }, options);
  }

  /** Delete the Mutual TLS module. Succeeds without effect if the module is not set. */
  delete(id: string, options?: WriteOptions): Promise<ResponseInfo> {
    return this.callForNothing({ method: 'DELETE', path: '/edges/https/{id}/mutual_tls', params: { id } }, options);
  }
}
