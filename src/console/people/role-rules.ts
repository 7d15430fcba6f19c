import type { JsonObject, JsonValue } from '../../lib/json.ts';
import { ROLES, type Role } from '../roles.ts';

/** A claim whose name is a URL, as some providers require, ends at the last colon; any other at the first. */
const RULE = /^(?<role>[a-z]+)=(?:(?<everybody>\*)|(?<claim>https?:\/\/\S+|(?!https?:\/\/)[^:\s]+):(?<value>.+))$/;

export interface RoleRule {
  readonly role: Role;
  /** Null: everybody whom the provider logs in. */
  readonly claim: string | null;
  readonly value: string;
}

/** `admin=groups:platform`, `operator=email:ann@example.com`, `viewer=*`; null for anything else. */
export function parseRoleRule(text: string): RoleRule | null {
  const found = RULE.exec(text)?.groups;
  const role = ROLES.find((each) => each === found?.['role']);
  if (found === undefined || role === undefined) return null;
  return { role, claim: found['claim'] ?? null, value: found['value'] ?? '' };
}

/** The highest role that a rule gives; null: none. */
export function roleOf(claims: JsonObject, rules: readonly RoleRule[]): Role | null {
  const given = rules.filter((rule) => matches(claims, rule)).map(({ role }) => role);
  return ROLES.findLast((role) => given.includes(role)) ?? null;
}

function matches(claims: JsonObject, { claim, value }: RoleRule): boolean {
  if (claim === null) return true;
  if (!Object.hasOwn(claims, claim)) return false;
  // Anybody can register somebody else's address at many providers.
  if (claim === 'email' && !isEmailVerified(claims)) return false;
  const said = claims[claim];
  const values: readonly (JsonValue | undefined)[] = Array.isArray(said) ? said : [said];
  return values.some((each) => isSame(claim, each, value));
}

function isSame(claim: string, said: JsonValue | undefined, wanted: string): boolean {
  if (typeof said === 'number' || typeof said === 'boolean') return String(said) === wanted;
  if (typeof said !== 'string') return false;
  return claim === 'email' ? said.toLowerCase() === wanted.toLowerCase() : said === wanted;
}

export function isEmailVerified({ email_verified: said }: JsonObject): boolean {
  return said === true || said === 'true';
}
