import { refuseWithout } from './errors.ts';
import type { Operation, Principal } from './operation.ts';
import type { Resource } from './resource.ts';

export const ALL_SCOPES = '*';
/** All scopes for reading, except the one for secrets. */
export const ALL_READS = '*:read';
export const READ_SECRETS = 'secrets:read';
/** `/metrics` is a page beside the operations. */
export const READ_METRICS = 'metrics:read';

/** Whether these scopes of a key include the wanted one. */
export function coversScope(scopes: readonly string[], wanted: string): boolean {
  if (scopes.includes(ALL_SCOPES) || scopes.includes(wanted)) return true;
  return wanted.endsWith(':read') && wanted !== READ_SECRETS && scopes.includes(ALL_READS);
}

/** Whether these scopes of a key include all of the wanted ones. */
export function coversScopes(scopes: readonly string[], wanted: readonly string[]): boolean {
  return wanted.every((each) => coversScope(scopes, each));
}

/** Which secrets the reader may see. */
export interface View {
  readonly readable: 'clear' | 'empty' | 'masked';
  readonly masked: 'clear' | 'masked';
}

/**
 * Scopes are `<first path segment>:read` or `:write`, `metrics:read`, `secrets:read`, `*:read` for all reads without
 * secrets, and `*` for everything.
 */
export function scopesOf(resources: readonly Resource[]): readonly string[] {
  const segments = new Set(resources.filter(hasOwnScope).map((resource) => firstSegment(resource.path)));
  return [
    ALL_SCOPES,
    ALL_READS,
    ...[...segments].sort().flatMap((segment) => [`${segment}:read`, `${segment}:write`]),
    READ_METRICS,
    READ_SECRETS,
  ];
}

/** Not if each of its operations names the scopes that it needs. */
function hasOwnScope(resource: Resource): boolean {
  return (
    resource.type === 'configuration' ||
    resource.operations.some(({ scopes }) => scopes === undefined || scopes.length > 0)
  );
}

export function scopeOf(method: string, path: string): string {
  return `${firstSegment(path)}:${method === 'GET' || method === 'HEAD' ? 'read' : 'write'}`;
}

/** The scopes that a key needs for an operation. */
export function scopesNeeded({
  method,
  path,
  scopes,
}: Pick<Operation, 'method' | 'path' | 'scopes'>): readonly string[] {
  return scopes ?? [scopeOf(method, path)];
}

export function hasScope(principal: Principal, scope: string): boolean {
  return coversScope(principal.scopes, scope);
}

export function requireScopes(principal: Principal, scopes: readonly string[]): void {
  for (const scope of scopes) {
    if (hasScope(principal, scope)) continue;
    refuseWithout({ scope, message: `this API key lacks the scope "${scope}": use a key that has it` });
  }
}

export function hasAllScopes({ scopes }: Principal): boolean {
  return scopes.includes(ALL_SCOPES);
}

/** Whether the key has any scope for writing. */
export function canWrite({ scopes }: Principal): boolean {
  return scopes.some((scope) => scope === ALL_SCOPES || scope.endsWith(':write'));
}

export function canReadSecrets(principal: Principal): boolean {
  return hasScope(principal, READ_SECRETS);
}

export function viewOf(principal: Principal): View {
  return { readable: canReadSecrets(principal) ? 'clear' : 'empty', masked: 'masked' };
}

function firstSegment(path: string): string {
  return path.split('/')[1] ?? '';
}
