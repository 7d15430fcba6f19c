import type { AccessModule } from '../../client/generated/access-module.ts';
import { type Flag, type ParsedFlags, usage } from '../../lib/flags.ts';
import type { JsonObject } from '../../lib/json.ts';
import { emailAddress } from '../../lib/text/email-address.ts';

/** Whom the rules of the command line let in. Each list says "only", so a person must be in all that are not empty. */
export interface WantedPeople {
  readonly emails: readonly string[];
  readonly emailDomains: readonly string[];
  readonly groups: readonly string[];
}

const EMAILS: Flag = {
  name: 'allow-email',
  kind: 'list',
  hint: 'ADDRESS,…',
  description: 'Let in only people with one of these verified addresses.',
};

const EMAIL_DOMAIN: Flag = {
  name: 'allow-email-domain',
  kind: 'list',
  hint: 'DOMAIN,…',
  description: 'Let in only people with a verified address of this domain.',
};

const GROUPS: Flag = {
  name: 'allow-groups',
  kind: 'list',
  hint: 'GROUP,…',
  description: 'Let in only members of one of these groups.',
};

export const PEOPLE_FLAGS: readonly Flag[] = [EMAILS, EMAIL_DOMAIN, GROUPS];

export function parsePeople(parsed: ParsedFlags): WantedPeople {
  return { emails: emailsOf(parsed), emailDomains: emailDomainsOf(parsed), groups: groupsOf(parsed) };
}

function groupsOf(parsed: ParsedFlags): readonly string[] {
  const groups = itemsOf(parsed, GROUPS);
  if (groups.includes('')) throw usage('--allow-groups requires names of groups: --allow-groups ops,support');
  return groups;
}

function emailDomainsOf(parsed: ParsedFlags): readonly string[] {
  const domains = itemsOf(parsed, EMAIL_DOMAIN).map((each) => each.toLowerCase().replace(/^@/, ''));
  if (domains.some((domain) => !/^[\w-]+(\.[\w-]+)+$/.test(domain))) {
    throw usage('--allow-email-domain requires a domain: --allow-email-domain example.com');
  }
  return domains;
}

function emailsOf(parsed: ParsedFlags): readonly string[] {
  const read = itemsOf(parsed, EMAILS).map(emailAddress);
  const emails = read.flatMap((each) => (each?.isPlain === true ? [each.text] : []));
  if (emails.length < read.length) {
    throw usage('--allow-email requires addresses: --allow-email ana@example.com,ben@example.com');
  }
  return [...new Set(emails)];
}

function itemsOf({ values }: ParsedFlags, { name }: Flag): readonly string[] {
  const given = (values.get(name) ?? []).flatMap((value) => value.split(','));
  return [...new Set(given.map((each) => each.trim()))];
}

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
