// Made from the schemas of src/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { PageQuery } from '../page-query.ts';
import type { Ref } from '../ref.ts';
import type { ConditionalOptions, CreateOptions, RequestOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface IpPolicyRule {
  /** Id, starting with "ipr_". */
  readonly id: string;
  /** URI of the resource. */
  readonly uri: string;
  /** When it was created. RFC 3339, UTC. */
  readonly created_at: string;
  /** What this is for, in your own words; at most 255 characters. */
  readonly description: string;
  /** Anything of yours, such as JSON; at most 4096 bytes. Postern does not read it. */
  readonly metadata: string;
  /** A range of addresses in CIDR notation, such as "203.0.113.0/24" or "2001:db8::/32". */
  readonly cidr: string;
  /** Id of the IP policy that the rule belongs to. It cannot be changed later. */
  readonly ip_policy: Ref;
  /** What happens to addresses of the range: "allow" or "deny". It cannot be changed later. */
  readonly action: 'allow' | 'deny';
}

export interface IpPolicyRuleCreate {
  /** What this is for, in your own words; at most 255 characters. */
  readonly description?: string | undefined;
  /** Anything of yours, such as JSON; at most 4096 bytes. Postern does not read it. */
  readonly metadata?: string | undefined;
  /** A range of addresses in CIDR notation, such as "203.0.113.0/24" or "2001:db8::/32". */
  readonly cidr: string;
  /** Id of the IP policy that the rule belongs to. It cannot be changed later. */
  readonly ip_policy_id: string;
  /** What happens to addresses of the range: "allow" or "deny". It cannot be changed later. */
  readonly action?: 'allow' | 'deny' | undefined;
}

export interface IpPolicyRulePage {
  /** The page, newest first. */
  readonly ip_policy_rules: readonly IpPolicyRule[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page, or null when there is none. */
  readonly next_page_uri: string | null;
}

export interface IpPolicyRuleUpdate {
  /** What this is for, in your own words; at most 255 characters. */
  readonly description?: string | undefined;
  /** Anything of yours, such as JSON; at most 4096 bytes. Postern does not read it. */
  readonly metadata?: string | undefined;
  /** A range of addresses in CIDR notation, such as "203.0.113.0/24" or "2001:db8::/32". */
  readonly cidr?: string | undefined;
}

/** A range of addresses that a policy allows or denies. */
export class IpPolicyRulesClient extends ResourceClient {
  /** Create an IP policy rule. A range of addresses that a policy allows or denies. */
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

  /** Get an IP policy rule. A range of addresses that a policy allows or denies. */
  get(id: string, options?: RequestOptions): Promise<Answer<IpPolicyRule>> {
    return this.call({ method: 'GET', path: '/ip_policy_rules/{id}', params: { id } }, options);
  }

  /**
   * Change fields of an IP policy rule. Only the fields that are named change. A module that is named is replaced
   * whole.
   */
  update(id: string, body: IpPolicyRuleUpdate, options?: ConditionalOptions): Promise<Answer<IpPolicyRule>> {
    return this.call({ method: 'PATCH', path: '/ip_policy_rules/{id}', params: { id }, body }, options);
  }

  /**
   * Delete an IP policy rule. A resource that others refer to is not deleted: 409, and details.referred_by names
   * them.
   */
  delete(id: string, options?: ConditionalOptions): Promise<ResponseInfo> {
    return this.callForNothing({ method: 'DELETE', path: '/ip_policy_rules/{id}', params: { id } }, options);
  }
}
