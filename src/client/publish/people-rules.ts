import type { JsonObject } from '../../kit/json.ts';
import type { AccessModule } from '../generated/access-module.ts';
import { type SiteRoute, siteRoutePath } from '../sites.ts';
import { GUARDS, LOGIN_MODULE, PASSWORD_MODULE, RULES_MODULE, replacedLogin } from './edge-login.ts';
import { ADDRESS_MODULE, createPolicy, type EdgeOperation } from './plan-parts.ts';
import type { WantedEdge, WantedPassword, WantedPeople } from './wanted-edge.ts';

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
 * nothing opens by a flag that was left out. Null: several rules, or rules of another form, which flags cannot
 * describe.
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

/**
 * Who may enter a route that exists, instead of the people who may now: login, rules and addresses are replaced
 * together.
 */
export function planEntry(wanted: WantedEdge, edgeId: string, route: SiteRoute): readonly EdgeOperation[] {
  const { host, login, addresses = [], passwords = [], guests } = wanted;
  const path = siteRoutePath(edgeId, route.id);
  const allow: JsonObject[] = [
    ...(peopleText(wanted) === null ? [] : [ruleOf(wanted)]),
    ...(guests === undefined ? [] : [{ guests: true }]),
  ];
  const bodies: Readonly<Record<string, JsonObject | null>> = {
    [LOGIN_MODULE]: login === null ? null : replacedLogin(login, route),
    [RULES_MODULE]: allow.length === 0 ? null : { allow },
    [PASSWORD_MODULE]: passwords.length === 0 ? null : passwordsBody(passwords, route),
    [ADDRESS_MODULE]: addresses.length === 0 ? null : { ip_policy_ids: [{ $ref: 0, field: 'id' }] },
  };
  const operations: EdgeOperation[] =
    addresses.length === 0 ? [] : [...createPolicy(addresses, `${host}${route.match}`, 0)];
  for (const name of [...GUARDS.map(([guard]) => guard), PASSWORD_MODULE, ADDRESS_MODULE] as const) {
    const body = bodies[name] ?? null;
    if (body !== null) operations.push({ method: 'PUT', path: `${path}/${name}`, body });
    else if (route[name] !== null) operations.push({ method: 'DELETE', path: `${path}/${name}` });
  }
  if (guests !== undefined) {
    const { label, expiresAt, maxBrowsers } = guests;
    const link = { edge_id: edgeId, route_id: route.id, host, label };
    operations.push({
      method: 'POST',
      path: '/guest_links',
      body: { ...link, expires_at: expiresAt, max_browsers: maxBrowsers },
    });
  }
  return operations;
}

/** What the form does not know stays, such as the name of the area. */
function passwordsBody(passwords: readonly WantedPassword[], route: SiteRoute): JsonObject {
  const former = route[PASSWORD_MODULE];
  const users = passwords.map(({ username, password }) => ({ username, password }));
  if (former === null) return { users };
  const { realm, options_passthrough } = former;
  return { users, realm, options_passthrough };
}
