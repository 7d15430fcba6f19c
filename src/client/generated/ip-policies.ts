// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { PageQuery } from '../page-query.ts';
import type { CreateOptions, RequestOptions, WriteOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface IpPolicy {
  /** Id, starting with "ipp_". */
  readonly id: string;
  /** URI of the resource. */
  readonly uri: string;
  /** When it was created. */
  readonly created_at: string;
  /** Free text for your own use; at most 255 characters. */
  readonly description: string;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata: string;
}

export interface IpPolicyCreate {
  /** Free text for your own use; at most 255 characters. */
  readonly description?: string | undefined;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata?: string | undefined;
}

export interface IpPolicyPage {
  /** The page, newest first. */
  readonly ip_policies: readonly IpPolicy[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

export interface IpPolicyUpdate {
  /** Free text for your own use; at most 255 characters. */
  readonly description?: string | undefined;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata?: string | undefined;
}

/**
 * A set of rules for client addresses, applied by the IP restriction module. Deleting a policy deletes its
 * rules.
 */
export class IpPoliciesClient extends ResourceClient {
  /**
   * Create an IP policy. A set of rules for client addresses, applied by the IP restriction module. Deleting a
   * policy deletes its rules.
   */
  create(body: IpPolicyCreate = {}, options?: CreateOptions): Promise<Answer<IpPolicy>> {
    return this.call({ method: 'POST', path: '/ip_policies', body }, options);
  }

  /** List IP policies: every one, page after page. */
  list(query?: PageQuery, options?: RequestOptions): AsyncGenerator<IpPolicy, void, undefined> {
    return this.eachItem({ method: 'GET', path: '/ip_policies', query }, 'ip_policies', options);
  }

  /** List IP policies: one page. */
  page(query?: PageQuery, options?: RequestOptions): Promise<Answer<IpPolicyPage>> {
    return this.call({ method: 'GET', path: '/ip_policies', query }, options);
  }

  /**
   * Get an IP policy. A set of rules for client addresses, applied by the IP restriction module. Deleting a policy
   * deletes its rules.
   */
  get(id: string, options?: RequestOptions): Promise<Answer<IpPolicy>> {
    return this.call({ method: 'GET', path: '/ip_policies/{id}', params: { id } }, options);
  }

  /**
   * Update an IP policy. Changes only the fields in the request; null counts as absent. A module in the request is
   * replaced as a whole. DELETE of the module removes it.
   */
  update(id: string, body: IpPolicyUpdate, options?: WriteOptions): Promise<Answer<IpPolicy>> {
    return this.call({ method: 'PATCH', path: '/ip_policies/{id}', params: { id }, body }, options);
  }

  /** Delete an IP policy. Returns 409 if other resources refer to it; details.referred_by names them. */
  delete(id: string, options?: WriteOptions): Promise<ResponseInfo> {
    return this.callForNothing({ method: 'DELETE', path: '/ip_policies/{id}', params: { id } }, options);
  }
}
