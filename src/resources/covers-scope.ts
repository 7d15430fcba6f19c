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
