// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { PageQuery } from '../page-query.ts';
import type { Ref } from '../ref.ts';
import type { CreateOptions, RequestOptions, WriteOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface IpPolicyRule {
  /** Id, starting with "ipr_". */
  readonly id: string;
  /** URI of the resource. */
  readonly uri: string;
  /** When it was created. */
  readonly created_at: string;
  /** Free text for your own use; at most 255 characters. */
  readonly description: string;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata: string;
  /** Address range in CIDR notation, such as "203.0.113.0/24" or "2001:db8::/32". */
  readonly cidr: string;
  /** Id of the IP policy that the rule belongs to. It cannot be changed later. */
  readonly ip_policy: Ref;
  /** Action for addresses in the range: "allow" or "deny". It cannot be changed later. */
  readonly action: 'allow' | 'deny';
}

export interface IpPolicyRuleCreate {
  /** Free text for your own use; at most 255 characters. */
  readonly description?: string | undefined;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata?: string | undefined;
  /** Address range in CIDR notation, such as "203.0.113.0/24" or "2001:db8::/32". */
  readonly cidr: string;
  /** Id of the IP policy that the rule belongs to. It cannot be changed later. */
  readonly ip_policy_id: string;
  /** Action for addresses in the range: "allow" or "deny". It cannot be changed later. */
  readonly action?: 'allow' | 'deny' | undefined;
}

export interface IpPolicyRulePage {
  /** The page, newest first. */
  readonly ip_policy_rules: readonly IpPolicyRule[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

export interface IpPolicyRuleUpdate {
  /** Free text for your own use; at most 255 characters. */
  readonly description?: string | undefined;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata?: string | undefined;
  /** Address range in CIDR notation, such as "203.0.113.0/24" or "2001:db8::/32". */
  readonly cidr?: string | undefined;
}

/** An address range that a policy allows or denies. */
export class IpPolicyRulesClient extends ResourceClient {
  /** Create an IP policy rule. An address range that a policy allows or denies. */
  create(body: IpPolicyRuleCreate, options?: CreateOptions): Promise<Answer<IpPolicyRule>> {
    return this.call({ method: 'POST', path: '/ip_policy_rules', body }, options);
  }

  /** List IP policy rules: every one, page after page. */
  list(query?: PageQuery, options?: RequestOptions): AsyncGenerator<IpPolicyRule, void, undefined> {
    return this.eachItem({ method: 'GET', path: '/ip_policy_rules', query }, 'ip_policy_rules', options);
  }

  /** List IP policy rules: one page. */
  page(query?: PageQuery, options?: RequestOptions): Promise<Answer<IpPolicyRulePage>> {
    return this.call({ method: 'GET', path: '/ip_policy_rules', query }, options);
  }

  /** Get an IP policy rule. An address range that a policy allows or denies. */
  get(id: string, options?: RequestOptions): Promise<Answer<IpPolicyRule>> {
    return this.call({ method: 'GET', path: '/ip_policy_rules/{id}', params: { id } }, options);
  }

  /**
   * Update an IP policy rule. Changes only the fields in the request; null counts as absent. A module in the
   * request is replaced as a whole. DELETE of the module removes it.
   */
  update(id: string, body: IpPolicyRuleUpdate, options?: WriteOptions): Promise<Answer<IpPolicyRule>> {
    return this.call({ method: 'PATCH', path: '/ip_policy_rules/{id}', params: { id }, body }, options);
  }

  /** Delete an IP policy rule. Returns 409 if other resources refer to it; details.referred_by names them. */
  delete(id: string, options?: WriteOptions): Promise<ResponseInfo> {
    return this.callForNothing({ method: 'DELETE', path: '/ip_policy_rules/{id}', params: { id } }, options);
  }
}
