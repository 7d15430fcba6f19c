import type { Static } from 'typebox';
import type { JsonObject } from '../../lib/json.ts';
import { isAddressClaim } from '../../lib/text/address-claims.ts';
import type { AcceptedForm } from '../contract/agent-form.ts';
import type { AccessConfig, Rule } from './access-config.ts';
import type { accessAgentSchema } from './agent-form.ts';

/** Each value of an agent's lists is a rule of its own: one of them lets in, one of them keeps out. */
export function agentRules(form: JsonObject): AcceptedForm | { readonly problem: string } {
  // The server has decoded the form by its schema.
  const lists = form as Static<typeof accessAgentSchema>;
  const { bearer_issuer: issuer, bearer_audiences: audiences } = lists;
  const written = [...lists.allow_claims, ...lists.deny_claims, ...lists.bearer_claims].find((each) => !isClaim(each));
  if (written !== undefined) return { problem: `${JSON.stringify(written)} is no claim: write NAME=VALUE` };
  const address = addressProblem(lists);
  if (address !== null) return { problem: address };
  const isBearerComplete = issuer !== '' && audiences.length > 0 && lists.bearer_claims.length > 0;
  const hasBearer = issuer !== '' || audiences.length > 0 || lists.bearer_claims.length > 0;
  if (hasBearer && !isBearerComplete) {
    return { problem: 'bearer_issuer, bearer_audiences and bearer_claims need each other: write all of them or none' };
  }
  const config: AccessConfig = {
    enabled: true,
    enforce: lists.enforce,
    allow: [
      ...rulesOf(lists.allow_emails, lists.allow_email_domains, lists.allow_claims),
      ...(lists.allow_groups.length > 0 ? [{ claims: { groups: lists.allow_groups } }] : []),
      ...(lists.allow_service_accounts.length > 0 ? [{ service_accounts: lists.allow_service_accounts }] : []),
    ],
    deny: rulesOf(lists.deny_emails, lists.deny_email_domains, lists.deny_claims),
    bearer: isBearerComplete ? [{ issuer, audiences, claims: claimsOf(lists.bearer_claims) }] : [],
    forward_bearer: false,
  };
  return { config: config as unknown as JsonObject, records: [] };
}

/** In the names of the agent's form: the check of the rules names rules, which the agent's user has not written. */
function addressProblem(lists: Static<typeof accessAgentSchema>): string | null {
  for (const [list, remedy] of Object.entries(ADDRESS_REMEDIES) as [keyof typeof ADDRESS_REMEDIES, string][]) {
    const found = Object.entries(claimsOf(lists[list])).find(([name, values]) => isAddressClaim(name, values));
    if (found !== undefined)
      return `${list} has "${found[0]}", which may be an address that the provider has not verified: use ${remedy}`;
  }
  return null;
}

const ADDRESS_REMEDIES = {
  allow_claims: 'allow_emails (--allow-email) or allow_email_domains (--allow-email-domain)',
  deny_claims: 'deny_emails (--deny-email) or deny_email_domains',
  bearer_claims: 'a claim that the issuer itself sets, such as sub',
} as const;

function rulesOf(emails: string[], domains: string[], claims: readonly string[]): Rule[] {
  return [
    ...(emails.length > 0 ? [{ emails }] : []),
    ...(domains.length > 0 ? [{ email_domains: domains }] : []),
    ...Object.entries(claimsOf(claims)).map(([name, values]) => ({ claims: Object.fromEntries([[name, values]]) })),
  ];
}

/** The value follows the last sign: a name may be a URL with a query. */
function claimsOf(written: readonly string[]): Record<string, string[]> {
  const claims = new Map<string, string[]>();
  for (const each of written) {
    const sign = each.lastIndexOf('=');
    const name = each.slice(0, sign);
    claims.set(name, [...(claims.get(name) ?? []), each.slice(sign + 1)]);
  }
  return Object.fromEntries(claims);
}

function isClaim(written: string): boolean {
  return written.lastIndexOf('=') > 0;
}
