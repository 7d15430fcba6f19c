// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { RequestOptions, WriteOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface ResponseHeadersModule {
  /** Whether the module is applied to traffic. Default: true. */
  readonly enabled: boolean;
  /**
   * Headers to add to the response, after those of "remove" were removed: at most 10, with names in lower case. A
   * header that is already there gets a second value. Values may contain variables, such as "${conn.client_ip}";
   * "$${" stands for "${". The values of authorization and cookie are secrets.
   */
  readonly add: {
    /** Value with credentials. "": not set. */
    readonly authorization?: string | undefined;
    /** Value with credentials. "": not set. */
    readonly cookie?: string | undefined;
    readonly [name: string]: string | undefined;
  };
  /** Names of headers to remove from the response, with all of their values: at most 10. */
  readonly remove: readonly string[];
}

export interface ResponseHeadersModuleReplace {
  /** Whether the module is applied to traffic. Default: true. */
  readonly enabled?: boolean | undefined;
  /**
   * Headers to add to the response, after those of "remove" were removed: at most 10, with names in lower case. A
   * header that is already there gets a second value. Values may contain variables, such as "${conn.client_ip}";
   * "$${" stands for "${". The values of authorization and cookie are secrets.
   */
  readonly add?:
    | {
        /** Value with credentials. "": not set. */
        readonly authorization?: string | undefined;
        /** Value with credentials. "": not set. */
        readonly cookie?: string | undefined;
        readonly [name: string]: string | undefined;
      }
    | undefined;
  /** Names of headers to remove from the response, with all of their values: at most 10. */
  readonly remove?: readonly string[] | undefined;
}

/** Removes headers from responses of the backend, and adds others. Pages of the edge itself keep theirs. */
export class ResponseHeadersModuleClient extends ResourceClient {
  /**
   * Replace the Response headers module. Removes headers from responses of the backend, and adds others. Pages of
   * the edge itself keep theirs. An omitted field is reset to its default.
   */
  replace(
    params: { readonly edge_id: string; readonly id: string },
    body: ResponseHeadersModuleReplace = {},
    options?: WriteOptions,
  ): Promise<Answer<ResponseHeadersModule>> {
    return this.call(
      { method: 'PUT', path: '/edges/https/{edge_id}/routes/{id}/response_headers', params, body },
      options,
    );
  }

  /**
   * Get the Response headers module. Removes headers from responses of the backend, and adds others. Pages of the
   * edge itself keep theirs. Returns 404 if the module is not set.
   */
  get(
    params: { readonly edge_id: string; readonly id: string },
    options?: RequestOptions,
  ): Promise<Answer<ResponseHeadersModule>> {
    return this.call({ method: 'GET', path: '/edges/https/{edge_id}/routes/{id}/response_headers', params }, options);
  }

  /** Delete the Response headers module. Succeeds without effect if the module is not set. */
  delete(params: { readonly edge_id: string; readonly id: string }, options?: WriteOptions): Promise<ResponseInfo> {
    return this.callForNothing(
      { method: 'DELETE', path: '/edges/https/{edge_id}/routes/{id}/response_headers', params },
      options,
    );
  }
}
