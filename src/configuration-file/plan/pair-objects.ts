import { comparableForm } from '../comparable-form.ts';
import type { InstalledObject } from '../documents.ts';
import type { FileObject } from '../file-object.ts';
import { storedForm } from '../stored-form.ts';

/** An object of the files and the one of the server that it describes; null: it is new. */
export interface Pair {
  readonly file: FileObject;
  readonly installed: InstalledObject | null;
}

export interface Pairing {
  readonly pairs: readonly Pair[];
  /** Objects of the server that the files do not have. */
  readonly rest: readonly InstalledObject[];
}

/**
 * Finds the objects of the server that the files describe: by what an earlier apply remembered, by a value that only one
 * object can have, such as a host name, then by name.
 */
export function pairObjects(
  files: readonly FileObject[],
  installed: readonly InstalledObject[],
  claimedId: (file: FileObject) => string | undefined = () => undefined,
): Pairing {
  const free = new Set(installed);
  const byId = new Map(installed.map((object) => [object.id, object]));
  const byKey = new Map(installed.flatMap((object) => keysOf(object).map((key) => [key, object] as const)));
  const byName = new Map(installed.map((object) => [object.name, object]));
  const found = new Map<FileObject, InstalledObject>();
  const ways: readonly ((file: FileObject) => readonly (InstalledObject | undefined)[])[] = [
    (file) => [byId.get(claimedId(file) ?? '')],
    (file) => keysOf(file).map((key) => byKey.get(key)),
    (file) => [byName.get(file.name)],
  ];
  for (const way of ways) {
    for (const file of files) {
      if (found.has(file)) continue;
      const match = way(file).find((object) => object !== undefined && free.has(object));
      if (match === undefined) continue;
      free.delete(match);
      found.set(file, match);
    }
  }
  return {
    pairs: files.map((file) => ({ file, installed: found.get(file) ?? null })),
    rest: installed.filter((object) => free.has(object)),
  };
}

/** Only objects of one parent are compared: its id does not matter. */
function keysOf(object: FileObject | InstalledObject): readonly string[] {
  const { kind, id } = object;
  if (kind.resource.uniqueKeys === undefined) return [];
  const form = storedForm(kind.resource.config, 'document' in object ? object.document : object.config);
  const { config } = comparableForm(kind, form);
  const keys = kind.resource.uniqueKeys(config as never, { id, parent: null }, {});
  return keys.map(({ scope, key }) => `${scope}\0${key}`);
}
