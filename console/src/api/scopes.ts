import { session } from './session-token.ts';

/** The server decides; this only keeps buttons away that it would refuse. */
export function isAllowed(scope: string): boolean {
  const scopes = session.value?.scopes ?? [];
  if (scopes.includes('*') || scopes.includes(scope)) return true;
  return scope.endsWith(':read') && scope !== 'secrets:read' && scopes.includes('*:read');
}

export function areAllowed(scopes: readonly string[]): boolean {
  return scopes.every(isAllowed);
}
