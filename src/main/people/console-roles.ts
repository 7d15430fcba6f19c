import { ADMINISTRATORS_GROUP } from '../../config/console-settings.ts';
import type { Config } from '../../config/schema.ts';
import { highestRole, parseRoleRule, type Role, type RoleRule, scopesOfRole } from '../../console/roles.ts';
import type { JsonObject } from '../../lib/json.ts';
import { isEmailVerified } from '../../lib/text/verified-email.ts';
import { compileRules } from '../../modules/access/rules.ts';
import { textClaim } from '../../modules/login/claims.ts';

/**
 * Roles of people in the console, decided by the rules of routes: an address counts only if it is verified, and no other
 * claim stands for it.
 */
export function consoleRoles(written: readonly string[]): (claims: JsonObject) => Role | null {
  // The settings have been checked.
  const rules = written.map((text) => parseRoleRule(text) as RoleRule);
  const compiled = new Map(rules.map((rule) => [rule, compile(rule)]));
  return (claims) => {
    const person = {
      kind: 'user',
      id: '',
      email: textClaim(claims, 'email'),
      isEmailVerified: isEmailVerified(claims),
      name: '',
      claims,
      droppedClaims: [],
    } as const;
    return highestRole(rules, (rule) => compiled.get(rule)?.(person).allowed ?? true);
  };
}

/** Rules for people who log in at the identity host. */
export function identityRoleRules({ console_roles: rules }: Pick<Config, 'console_roles'>): readonly string[] {
  return rules.length > 0 ? rules : [`admin=groups:${ADMINISTRATORS_GROUP}`];
}

/**
 * Scopes that a person with these claims has in the console. Also while the console uses another provider: the account
 * would have them from the moment it uses the identity host.
 */
export function identityScopes(config: Config, all: readonly string[]): (claims: JsonObject) => readonly string[] {
  const roleOf = consoleRoles(identityRoleRules(config));
  return (claims) => {
    const role = roleOf(claims);
    return role === null ? [] : scopesOfRole(role, all);
  };
}

/** Null: everybody. */
function compile({ claim, value }: RoleRule): ReturnType<typeof compileRules> | null {
  if (claim === null) return null;
  const rule = claim === 'email' ? { emails: [value] } : { claims: Object.fromEntries([[claim, [value]]]) };
  return compileRules({ allow: [rule], deny: [], bearer: [] });
}
