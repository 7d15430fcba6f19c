import { ALL_READS, ALL_SCOPES } from '../resources/covers-scope.ts';
import { resources } from '../resources/registry.ts';
import type { Resource } from '../resources/resource.ts';

/** The highest last. */
export const ROLES = ['viewer', 'operator', 'admin'] as const;
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
