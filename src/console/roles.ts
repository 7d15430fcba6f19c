import { ALL_READS, ALL_SCOPES } from '../resources/covers-scope.ts';

/** The highest last. */
export const ROLES = ['viewer', 'operator', 'admin'] as const;
export type Role = (typeof ROLES)[number];

/** Segments whose writes create or end access to the server itself. */
const KEYS_AND_CREDENTIALS: ReadonlySet<string> = new Set(['api_keys', 'credentials', 'service_accounts', 'console']);

/** Scopes of a person. `all`: every scope that an API key can have. */
export function scopesOfRole(role: Role, all: readonly string[]): readonly string[] {
  if (role === 'admin') return [ALL_SCOPES];
  if (role === 'viewer') return [ALL_READS];
  const writes = all.filter((scope) => scope.endsWith(':write'));
  return [ALL_READS, ...writes.filter((scope) => !KEYS_AND_CREDENTIALS.has(scope.split(':')[0] ?? ''))];
}

export function isRole(text: string): text is Role {
  return ROLES.some((role) => role === text);
}
