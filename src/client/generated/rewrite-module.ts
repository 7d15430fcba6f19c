// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { RequestOptions, WriteOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface RewriteModule {
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
     * The path that the upstream gets, such as "/". What follows a prefix is kept. "$1" stands for the first group
     * of a regular expression, and "$$" for a dollar sign. The query of the request is kept unless "to" has one.
     */
    readonly to: string;
  }[];
}

export interface RewriteModuleReplace {
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
     * The path that the upstream gets, such as "/". What follows a prefix is kept. "$1" stands for the first group
     * of a regular expression, and "$$" for a dollar sign. The query of the request is kept unless "to" has one.
     */
    readonly to: string;
  }[];
}

/** Changes the paths of requests before they reach the upstream. The visitor sees no change. */
export class RewriteModuleClient extends ResourceClient {
  /**
   * Replace the Rewrite module. Changes the paths of requests before they reach the upstream. The visitor sees no
   * change. An omitted field is reset to its default.
   */
  replace(
    params: { readonly edge_id: string; readonly id: string },
    body: RewriteModuleReplace,
    options?: WriteOptions,
  ): Promise<Answer<RewriteModule>> {
    return this.call({ method: 'PUT', path: '/edges/https/{edge_id}/routes/{id}/rewrite', params, body }, options);
  }

  /**
   * Get the Rewrite module. Changes the paths of requests before they reach the upstream. The visitor sees no
   * change. Returns 404 if the module is not set.
   */
  get(
    params: { readonly edge_id: string; readonly id: string },
    options?: RequestOptions,
  ): Promise<Answer<RewriteModule>> {
    return this.call({ method: 'GET', path: '/edges/https/{edge_id}/routes/{id}/rewrite', params }, options);
  }

  /** Delete the Rewrite module. Succeeds without effect if the module is not set. */
  delete(params: { readonly edge_id: string; readonly id: string }, options?: WriteOptions): Promise<ResponseInfo> {
    return this.callForNothing(
      { method: 'DELETE', path: '/edges/https/{edge_id}/routes/{id}/rewrite', params },
      options,
    );
  }
}
