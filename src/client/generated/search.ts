// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer } from '../answer.ts';
import type { PageQuery } from '../page-query.ts';
import type { RequestOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface SearchResultQueryAnswer {
  /** The matches, best first. */
  readonly results: readonly {
    /** Kind of the resource. */
    readonly kind: string;
    /** Its id. */
    readonly id: string;
    /** Its URI. */
    readonly uri: string;
    /** What people call it: host names, path, name or description; otherwise the id. */
    readonly title: string;
    /** The field in which the text occurs. */
    readonly matched: string;
  }[];
  /** Whether more resources match: use a longer text. */
  readonly has_more: boolean;
}

/** Finds resources by host name, path, name, description, metadata or id. */
export class SearchClient extends ResourceClient {
  /**
   * Search the configuration. Finds resources by host name, path, name, description, metadata or id. Every word of
   * the text must occur, in any case. The best matches come first. Resources that the key may not read are left
   * out, and secrets are not searched.
   */
  query(query?: PageQuery, options?: RequestOptions): Promise<Answer<SearchResultQueryAnswer>> {
    return this.call({ method: 'GET', path: '/search', query }, options);
  }
}
