import type { AccessModule } from '../client/generated/access-module.ts';
import type { JsonObject } from '../lib/json.ts';
import type { WantedPeople } from './wanted-edge.ts';

/** The people for a line of the plan; null: there are no rules. */
export function peopleText({ emails, emailDomains, groups }: WantedPeople): string | null {
  const named = [...emails, ...emailDomains, ...groups.map((group) => `group ${group}`)];
  return named.length === 0 ? null : named.join(', ');
}

export function ruleOf({ emails, emailDomains, groups }: WantedPeople): JsonObject {
  return {
    ...(emails.length > 0 && { emails: [...emails] }),
    ...(emailDomains.length > 0 && { email_domains: [...emailDomains] }),
    ...(groups.length > 0 && { claims: { groups: [...groups] } }),
  };
}

/** Whether the rules of a route let in everybody whom the command line names. */
export function isCovered({ allow }: AccessModule, { emails, emailDomains, groups }: WantedPeople): boolean {
  const addresses = allow.flatMap((rule) => rule.emails ?? []).map((each) => each.toLowerCase());
  const domains = allow.flatMap((rule) => rule.email_domains ?? []);
  const allowed = allow.flatMap((rule) => rule.claims?.['groups'] ?? []);
  return (
    emails.every((email) => addresses.includes(email)) &&
    emailDomains.every((domain) => domains.includes(domain)) &&
    groups.every((group) => allowed.includes(group))
  );
}

/**
 * The rules of a route with what the flags name instead of what they had for it. A part that no flag names stays, so
 * nothing opens by a flag that was left out. Null: several rules, or rules of another form, which flags cannot describe.
 */
export function changedRules(access: AccessModule, people: WantedPeople): JsonObject | null {
  const [rule, ...others] = access.allow;
  if (others.length > 0 || access.deny.length > 0 || access.bearer.length > 0 || !access.enabled || !access.enforce)
    return null;
  if (rule?.guests === true || rule?.service_accounts !== undefined) return null;
  const { claims, ...given } = ruleOf(people);
  const merged = { ...(rule as JsonObject | undefined), ...given };
  const allClaims = { ...rule?.claims, ...(claims as JsonObject | undefined) };
  const allow = [{ ...merged, ...(Object.keys(allClaims).length > 0 && { claims: allClaims as JsonObject }) }];
  return { ...(access as unknown as JsonObject), allow };
}
