import { refuseWithout } from '../resources/errors.ts';
import {
  ALL_READS,
  ALL_SCOPES,
  coversScope,
  type Operation,
  type Principal,
  READ_METRICS,
  READ_SECRETS,
} from '../resources/operation.ts';
import type { Resource } from '../resources/resource.ts';

/** Which secrets the reader may see. */
export interface View {
  readonly readable: 'clear' | 'empty' | 'masked';
  readonly masked: 'clear' | 'masked';
}

/**
 * Scopes are `<first path segment>:read` or `:write`, `metrics:read`, `secrets:read`, `*:read` for all reads without secrets, and `*`
 * for everything.
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
