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
export function highestRole(rules: readonly RoleRule[], matches: (rule: RoleRule) => boolean): Role | null {
  const given = rules.filter(matches).map(({ role }) => role);
  return ROLES.findLast((role) => given.includes(role)) ?? null;
}
