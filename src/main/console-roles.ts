import { highestRole, parseRoleRule, type RoleRule } from '../console/people/role-rules.ts';
import type { Role } from '../console/roles.ts';
import type { JsonObject } from '../lib/json.ts';
import { isEmailVerified } from '../lib/text/verified-email.ts';
import { compileRules } from '../modules/access/rules.ts';
import { textClaim } from '../modules/login/identity/claims.ts';

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

/** Null: everybody. */
function compile({ claim, value }: RoleRule): ReturnType<typeof compileRules> | null {
  if (claim === null) return null;
  const rule = claim === 'email' ? { emails: [value] } : { claims: Object.fromEntries([[claim, [value]]]) };
  return compileRules({ allow: [rule], deny: [], bearer: [] });
}
