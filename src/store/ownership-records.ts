/** Who applies an object by a file, and under which name: a record of its own beside the object's, deleted with it. */
export const OWNERSHIP_KIND = 'ownership';

/** Different from the object's id: the store knows parents by id alone. */
export function ownershipId(objectId: string): string {
  return `${objectId}.owner`;
}
