/**
 * Key of a module's record on an edge or route. The id is derived from the owner's but different: the store knows
 * parents by id alone, so deleting a module with the id of its owner would delete everything below the owner.
 */
export function moduleRecordKey(
  ownerKind: string,
  ownerId: string,
  moduleName: string,
): { readonly kind: string; readonly id: string } {
  return { kind: `${ownerKind}.${moduleName}`, id: moduleRecordId(ownerId, moduleName) };
}

export function moduleRecordId(ownerId: string, moduleName: string): string {
  return `${ownerId}.${moduleName}`;
}

/** The inverse: null for kinds of other records. */
export function moduleNameOf(ownerKind: string, kind: string): string | null {
  return kind.startsWith(`${ownerKind}.`) ? kind.slice(ownerKind.length + 1) : null;
}
