// Made from the schemas of src/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { Ref } from '../ref.ts';
import type { ConditionalOptions, RequestOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface MutualTlsModule {
  /** True when the module is applied to traffic, false when it is disabled. True when left out. */
  readonly enabled: boolean;
  /**
   * Ids of the certificate authorities, 1 to 10 and none twice, that a client's certificate is checked against.
   * May be empty only while "enabled" is false.
   */
  readonly certificate_authorities: readonly Ref[];
}

export interface MutualTlsModuleReplace {
  /** True when the module is applied to traffic, false when it is disabled. True when left out. */
  readonly enabled?: boolean | undefined;
  /**
   * Ids of the certificate authorities, 1 to 10 and none twice, that a client's certificate is checked against.
   * May be empty only while "enabled" is false.
   */
  readonly certificate_authority_ids?: readonly string[] | undefined;
}

/** Demands a client certificate that one of the named authorities has issued. */
export class MutualTlsModuleClient extends ResourceClient {
  /**
   * Replace the Mutual TLS module. Demands a client certificate that one of the named authorities has issued. A
   * field that is left out goes back to its default.
   */
  replace(
    id: string,
    body: MutualTlsModuleReplace = {},
    options?: ConditionalOptions,
  ): Promise<Answer<MutualTlsModule>> {
    return this.call({ method: 'PUT', path: '/edges/https/{id}/mutual_tls', params: { id }, body }, options);
  }

  /**
   * Get the Mutual TLS module. Demands a client certificate that one of the named authorities has issued. A module
   * that was never set, or was deleted, is 404.
   */
  get(id: string, options?: RequestOptions): Promise<Answer<MutualTlsModule>> {
    return this.call({ method: 'GET', path: '/edges/https/{id}/mutual_tls', params: { id } }, options);
  }

  /** Delete the Mutual TLS module. Deleting a module that is not set changes nothing and is no error. */
  delete(id: string, options?: ConditionalOptions): Promise<ResponseInfo> {
    return this.callForNothing({ method: 'DELETE', path: '/edges/https/{id}/mutual_tls', params: { id } }, options);
  }
}
