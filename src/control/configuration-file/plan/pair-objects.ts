import type { JsonObject } from '../../../kit/json.ts';
import type { FileConfig, FileObject } from '../file-object.ts';
import type { FileProblem } from '../format.ts';
import type { InstalledObject } from '../installed-objects.ts';
import { comparableForm, type ReadSecret, storedForm } from '../stored-form.ts';
import { type FileSecret, type PlacedSecret, placedSecrets } from '../wire-body.ts';

/** An object of the files and the one of the server that it describes; null: it is new. */
export interface Pair {
  readonly file: FileObject;
  readonly installed: InstalledObject | null;
}

interface Pairing {
  readonly pairs: readonly Pair[];
  /** Objects of the server that the files do not have. */
  readonly rest: readonly InstalledObject[];
}

/**
 * Finds the objects of the server that the files describe: by what an earlier apply remembered, by a value that only
 * one object can have, such as a host name, then by name.
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

/** Secrets whose variable or file does not exist, with what to say about it. */
export type NotGiven = ReadonlyMap<PlacedSecret, FileProblem>;

interface KeptSecrets {
  readonly pairs: readonly Pair[];
  /** One for each secret that stays as the server has it. */
  readonly kept: readonly FileProblem[];
  /** For secrets that nothing on the server stands for. */
  readonly problems: readonly FileProblem[];
  /** Problems of an object if it has to be created after all, in the place of the one that has its secrets. */
  readonly ifCreated: ReadonlyMap<FileObject, readonly FileProblem[]>;
}

/** Takes secrets that are not given out of objects that exist: what the files do not name, the server keeps. */
export function keepSecrets(pairs: readonly Pair[], notGiven: NotGiven): KeptSecrets {
  const keeper = new Keeper(notGiven);
  const own = notGiven.size === 0 ? pairs : pairs.map((pair) => ({ ...pair, file: keeper.object(pair) }));
  return { pairs: own, kept: keeper.kept, problems: keeper.problems, ifCreated: keeper.ifCreated };
}

type Present = ReadonlyMap<string, ReadSecret> | null;

class Keeper {
  readonly kept: FileProblem[] = [];
  readonly problems: FileProblem[] = [];
  readonly ifCreated = new Map<FileObject, readonly FileProblem[]>();
  readonly #notGiven: NotGiven;

  constructor(notGiven: NotGiven) {
    this.#notGiven = notGiven;
  }

  object({ file, installed }: Pair): FileObject {
    const { resource, modules } = file.kind;
    const document = installed?.kind === file.kind ? installed.document : null;
    const before = this.kept.length;
    const own = this.#config(file, document === null ? null : storedForm(resource.config, document).secrets);
    const inModules = modules.flatMap((module) => {
      const config = file.modules.get(module.name);
      const read = document?.[module.name] ?? null;
      const present = read === null ? null : storedForm(module.config, read as JsonObject).secrets;
      return config === undefined ? [] : [[module.name, this.#config(config, present)] as const];
    });
    const lost = this.kept.slice(before);
    const children = pairObjects(file.children, childrenOf(installed)).pairs.map((pair) => this.object(pair));
    const result = { ...file, ...own, modules: new Map(inModules), children };
    if (lost.length > 0) this.ifCreated.set(result, lost);
    return result;
  }

  #config<T extends FileConfig>(config: T, present: Present): T {
    const secrets = [...config.secrets].filter(([pointer, secret]) => !this.#isKept(secret, present?.get(pointer)));
    return { ...config, secrets: new Map(secrets) };
  }

  #isKept(secret: FileSecret, present: ReadSecret | undefined): boolean {
    const parts = [...placedSecrets(secret)];
    const absent = parts.flatMap((part) => this.#notGiven.get(part) ?? []);
    if (absent.length === 0) return false;
    // The server keeps all secrets of a map, or none.
    const isKept = present !== undefined && present.state !== 'unset' && absent.length === parts.length;
    (isKept ? this.kept : this.problems).push(...absent);
    return isKept;
  }
}

function childrenOf(installed: InstalledObject | null): readonly InstalledObject[] {
  return installed?.children ?? [];
}
