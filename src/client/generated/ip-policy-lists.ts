// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { PageQuery } from '../page-query.ts';
import type { Ref } from '../ref.ts';
import type { CreateOptions, RequestOptions, WriteOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface IpPolicyList {
  /** Id, starting with "ipl_". */
  readonly id: string;
  /** URI of the resource. */
  readonly uri: string;
  /** When it was created. */
  readonly created_at: string;
  /** Free text for your own use; at most 255 characters. */
  readonly description: string;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata: string;
  /** Id of the IP policy that the list belongs to. It cannot be changed later. */
  readonly ip_policy: Ref;
  /** Action for addresses on the list: "allow" or "deny". It cannot be changed later. Default: "deny". */
  readonly action: 'allow' | 'deny';
  /**
   * https URL of a plain list: on each line an address, a range in CIDR notation or FIRST-LAST; comments start
   * with # or ;. At most 64 MiB and 2,000,000 entries. Redirects are not followed. Every node fetches it for
   * itself.
   */
  readonly url: string;
  /** Path of such a list, relative to the setting lists_dir, on every node. It is read again when the file changes. */
  readonly file: string;
  /**
   * Countries as ISO 3166-1 codes, such as ["DE", "FR"]. The countries of addresses come from the MMDB file in the
   * setting country_database. An address without a country matches no list.
   */
  readonly countries: readonly string[];
  /** Minutes between two requests to url. After a failure, they are repeated sooner. Default: 60. */
  readonly refresh_minutes: number;
  /**
   * Whether the list decides. false rehearses it: a deny list refuses nobody, and the log, the metrics and the
   * events report which requests it would have refused; an allow list admits nobody. Default: true.
   */
  readonly enforce: boolean;
  /**
   * Headers of the requests to url, such as {"authorization": "Bearer …"} for a list behind a key. Their values
   * are secret. They are sent to the origin of url alone.
   */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * State of the list on the node that answers: "current"; "stale", when the last attempt to read it failed and
   * the former entries stay in use; "missing", when it was never loaded.
   */
  readonly status: 'current' | 'stale' | 'missing';
  /** How many addresses and ranges are in use; for countries, those of all countries. */
  readonly entries: number;
  /** Lines of the list that are neither entries nor comments. */
  readonly skipped_lines: number;
  /** When the entries in use were read; null if the list was never loaded. */
  readonly loaded_at: string | null;
  /** When the source was last read without an error, also if it was unchanged; null if not since the start. */
  readonly checked_at: string | null;
  /** Why the last attempt failed, without the content of the list; null if it succeeded. */
  readonly error: string | null;
}

export interface IpPolicyListCreate {
  /** Free text for your own use; at most 255 characters. */
  readonly description?: string | undefined;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata?: string | undefined;
  /** Id of the IP policy that the list belongs to. It cannot be changed later. */
  readonly ip_policy_id: string;
  /** Action for addresses on the list: "allow" or "deny". It cannot be changed later. Default: "deny". */
  readonly action?: 'allow' | 'deny' | undefined;
  /**
   * https URL of a plain list: on each line an address, a range in CIDR notation or FIRST-LAST; comments start
   * with # or ;. At most 64 MiB and 2,000,000 entries. Redirects are not followed. Every node fetches it for
   * itself.
   */
  readonly url?: string | undefined;
  /** Path of such a list, relative to the setting lists_dir, on every node. It is read again when the file changes. */
  readonly file?: string | undefined;
  /**
   * Countries as ISO 3166-1 codes, such as ["DE", "FR"]. The countries of addresses come from the MMDB file in the
   * setting country_database. An address without a country matches no list.
   */
  readonly countries?: readonly string[] | undefined;
  /** Minutes between two requests to url. After a failure, they are repeated sooner. Default: 60. */
  readonly refresh_minutes?: number | undefined;
  /**
   * Whether the list decides. false rehearses it: a deny list refuses nobody, and the log, the metrics and the
   * events report which requests it would have refused; an allow list admits nobody. Default: true.
   */
  readonly enforce?: boolean | undefined;
  /**
   * Headers of the requests to url, such as {"authorization": "Bearer …"} for a list behind a key. Their values
   * are secret. They are sent to the origin of url alone.
   */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

export interface IpPolicyListPage {
  /** The page, newest first. */
  readonly ip_policy_lists: readonly IpPolicyList[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

export interface IpPolicyListUpdate {
  /** Free text for your own use; at most 255 characters. */
  readonly description?: string | undefined;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata?: string | undefined;
  /**
   * https URL of a plain list: on each line an address, a range in CIDR notation or FIRST-LAST; comments start
   * with # or ;. At most 64 MiB and 2,000,000 entries. Redirects are not followed. Every node fetches it for
   * itself.
   */
  readonly url?: string | undefined;
  /** Path of such a list, relative to the setting lists_dir, on every node. It is read again when the file changes. */
  readonly file?: string | undefined;
  /**
   * Countries as ISO 3166-1 codes, such as ["DE", "FR"]. The countries of addresses come from the MMDB file in the
   * setting country_database. An address without a country matches no list.
   */
  readonly countries?: readonly string[] | undefined;
  /** Minutes between two requests to url. After a failure, they are repeated sooner. Default: 60. */
  readonly refresh_minutes?: number | undefined;
  /**
   * Whether the list decides. false rehearses it: a deny list refuses nobody, and the log, the metrics and the
   * events report which requests it would have refused; an allow list admits nobody. Default: true.
   */
  readonly enforce?: boolean | undefined;
  /**
   * Headers of the requests to url, such as {"authorization": "Bearer …"} for a list behind a key. Their values
   * are secret. They are sent to the origin of url alone.
   */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

export interface IpPolicyListRefreshAnswer {
  /**
   * State of the list on the node that answers: "current"; "stale", when the last attempt to read it failed and
   * the former entries stay in use; "missing", when it was never loaded.
   */
  readonly status: 'current' | 'stale' | 'missing';
  /** How many addresses and ranges are in use; for countries, those of all countries. */
  readonly entries: number;
  /** Lines of the list that are neither entries nor comments. */
  readonly skipped_lines: number;
  /** When the entries in use were read; null if the list was never loaded. */
  readonly loaded_at: string | null;
  /** When the source was last read without an error, also if it was unchanged; null if not since the start. */
  readonly checked_at: string | null;
  /** Why the last attempt failed, without the content of the list; null if it succeeded. */
  readonly error: string | null;
}

export interface IpPolicyListRefresh {
  /** Whether to use a list with less than half of the former entries. Default: false. */
  readonly accept_smaller?: boolean | undefined;
}

/**
 * A list of addresses that a policy allows or denies: from a URL, from a file, or by country. A policy has at
 * most 50. While a list that is enforced was never loaded, the routes of its policy reject all traffic.
 */
export class IpPolicyListsClient extends ResourceClient {
  /**
   * Create an IP policy list. A list of addresses that a policy allows or denies: from a URL, from a file, or by
   * country. A policy has at most 50. While a list that is enforced was never loaded, the routes of its policy
   * reject all traffic.
   */
  create(body: IpPolicyListCreate, options?: CreateOptions): Promise<Answer<IpPolicyList>> {
    return this.call({ method: 'POST', path: '/ip_policy_lists', body }, options);
  }

  /** List IP policy lists: every one, page after page. */
  list(query?: PageQuery, options?: RequestOptions): AsyncGenerator<IpPolicyList, void, undefined> {
    return this.eachItem({ method: 'GET', path: '/ip_policy_lists', query }, 'ip_policy_lists', options);
  }

  /** List IP policy lists: one page. */
  page(query?: PageQuery, options?: RequestOptions): Promise<Answer<IpPolicyListPage>> {
    return this.call({ method: 'GET', path: '/ip_policy_lists', query }, options);
  }

  /**
   * Get an IP policy list. A list of addresses that a policy allows or denies: from a URL, from a file, or by
   * country. A policy has at most 50. While a list that is enforced was never loaded, the routes of its policy
   * reject all traffic.
   */
  get(id: string, options?: RequestOptions): Promise<Answer<IpPolicyList>> {
    return this.call({ method: 'GET', path: '/ip_policy_lists/{id}', params: { id } }, options);
  }

  /**
   * Update an IP policy list. Changes only the fields in the request; null counts as absent. A module in the
   * request is replaced as a whole. DELETE of the module removes it.
   */
  update(id: string, body: IpPolicyListUpdate, options?: WriteOptions): Promise<Answer<IpPolicyList>> {
    return this.call({ method: 'PATCH', path: '/ip_policy_lists/{id}', params: { id }, body }, options);
  }

  /** Delete an IP policy list. Returns 409 if other resources refer to it; details.referred_by names them. */
  delete(id: string, options?: WriteOptions): Promise<ResponseInfo> {
    return this.callForNothing({ method: 'DELETE', path: '/ip_policy_lists/{id}', params: { id } }, options);
  }

  /**
   * Read the source of an IP policy list now. Reads it on the node that answers. The response shows the state
   * afterwards: an "error" says why the former entries stay in use.
   */
  refresh(
    id: string,
    body: IpPolicyListRefresh = {},
    options?: RequestOptions,
  ): Promise<Answer<IpPolicyListRefreshAnswer>> {
    return this.call({ method: 'POST', path: '/ip_policy_lists/{id}/refresh', params: { id }, body }, options);
  }
}
