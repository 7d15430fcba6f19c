import { resources } from '../resources/registry.ts';
import type { Resource } from '../resources/resource.ts';
import { ALL_READS, ALL_SCOPES } from '../resources/scopes.ts';

/** The highest last. */
const ROLES = ['viewer', 'operator', 'admin'] as const;
export type Role = (typeof ROLES)[number];

/**
 * Segments whose writes create or end access. Resources that show a secret once are derived from the registry, so that
 * none is forgotten: an operator could create tokens of service accounts. A service account admits the programs that
 * have its tokens.
 */
const GRANTING_ACCESS: ReadonlySet<string> = new Set([
  ...resources.filter(mintsSecrets).map(({ path }) => segmentOf(path)),
  'service_accounts',
  'console',
]);

/** Scopes of a person. `all`: every scope that an API key can have. */
export function scopesOfRole(role: Role, all: readonly string[]): readonly string[] {
  if (role === 'admin') return [ALL_SCOPES];
  if (role === 'viewer') return [ALL_READS];
  const writes = all.filter((scope) => scope.endsWith(':write'));
  return [ALL_READS, ...writes.filter((scope) => !GRANTING_ACCESS.has(scope.split(':')[0] ?? ''))];
}

export function isRole(text: string): text is Role {
  return ROLES.some((role) => role === text);
}

function mintsSecrets(resource: Resource): boolean {
  return resource.type === 'configuration' && (resource.shownOnce !== undefined || resource.isNeverRestored === true);
}

function segmentOf(path: string): string {
  return path.split('/')[1] ?? '';
}

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
