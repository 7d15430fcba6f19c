// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { RequestOptions, WriteOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface RedirectModule {
  /** Whether the module is applied to traffic. Default: true. */
  readonly enabled: boolean;
  /** Rules for paths: 1 to 50. The first rule that matches decides. */
  readonly rules: readonly {
    /**
     * How "match" is compared with the path: exact_path with the whole path, path_prefix with its start, regex as a
     * regular expression in the syntax of RE2.
     */
    readonly match_type: 'exact_path' | 'path_prefix' | 'regex';
    /** A path such as "/old/", or a regular expression such as "^/users/([0-9]+)$". */
    readonly match: string;
    /**
     * Where the visitor is sent: a path on this site, such as "/new/", or an address that starts with "https://" or
     * "http://", a host and "/". What follows a prefix is kept. "$1" stands for the first group of a regular
     * expression, and "$$" for a dollar sign. The query of the request is kept unless "to" has one.
     */
    readonly to: string;
    /**
     * Status of the redirect. 301 and 308 are permanent: browsers remember them. 307 and 308 keep method and body.
     * Default: 302.
     */
    readonly status_code: 301 | 302 | 307 | 308;
  }[];
}

export interface RedirectModuleReplace {
  /** Whether the module is applied to traffic. Default: true. */
  readonly enabled?: boolean | undefined;
  /** Rules for paths: 1 to 50. The first rule that matches decides. */
  readonly rules: readonly {
    /**
     * How "match" is compared with the path: exact_path with the whole path, path_prefix with its start, regex as a
     * regular expression in the syntax of RE2.
     */
    readonly match_type: 'exact_path' | 'path_prefix' | 'regex';
    /** A path such as "/old/", or a regular expression such as "^/users/([0-9]+)$". */
    readonly match: string;
    /**
     * Where the visitor is sent: a path on this site, such as "/new/", or an address that starts with "https://" or
     * "http://", a host and "/". What follows a prefix is kept. "$1" stands for the first group of a regular
     * expression, and "$$" for a dollar sign. The query of the request is kept unless "to" has one.
     */
    readonly to: string;
    /**
     * Status of the redirect. 301 and 308 are permanent: browsers remember them. 307 and 308 keep method and body.
     * Default: 302.
     */
    readonly status_code?: 301 | 302 | 307 | 308 | undefined;
  }[];
}

/** Redirects requests to other addresses, by rules for their paths. */
export class RedirectModuleClient extends ResourceClient {
  /**
   * Replace the Redirect module. Redirects requests to other addresses, by rules for their paths. An omitted field
   * is reset to its default.
   */
  replace(
    params: { readonly edge_id: string; readonly id: string },
    body: RedirectModuleReplace,
    options?: WriteOptions,
  ): Promise<Answer<RedirectModule>> {
    return this.call({ method: 'PUT', path: '/edges/https/{edge_id}/routes/{id}/redirect', params, body }, options);
  }

  /**
   * Get the Redirect module. Redirects requests to other addresses, by rules for their paths. Returns 404 if the
   * module is not set.
   */
  get(
    params: { readonly edge_id: string; readonly id: string },
    options?: RequestOptions,
  ): Promise<Answer<RedirectModule>> {
    return this.call({ method: 'GET', path: '/edges/https/{edge_id}/routes/{id}/redirect', params }, options);
  }

  /** Delete the Redirect module. Succeeds without effect if the module is not set. */
  delete(params: { readonly edge_id: string; readonly id: string }, options?: WriteOptions): Promise<ResponseInfo> {
    return this.callForNothing(
      { method: 'DELETE', path: '/edges/https/{edge_id}/routes/{id}/redirect', params },
      options,
    );
  }
}
