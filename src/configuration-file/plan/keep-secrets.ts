import type { JsonObject } from '../../lib/json.ts';
import type { InstalledObject } from '../documents.ts';
import type { FileConfig, FileObject } from '../file-object.ts';
import type { FileProblem } from '../file-problem.ts';
import { type ReadSecret, storedForm } from '../stored-form.ts';
import { type FileSecret, type PlacedSecret, placedSecrets } from '../wire-body.ts';
import { type Pair, pairObjects } from './pair-objects.ts';

/** Secrets whose variable or file does not exist, with what to say about it. */
export type NotGiven = ReadonlyMap<PlacedSecret, FileProblem>;

export interface KeptSecrets {
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
