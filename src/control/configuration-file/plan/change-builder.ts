import type { JsonObject, JsonValue } from '../../../kit/json.ts';
import type { FileConfig, FileObject } from '../file-object.ts';
import { type FileProblem, quoted } from '../format.ts';
import type { InstalledObject } from '../installed-objects.ts';
import { baseName } from '../object-names.ts';
import { type ObjectKind, sectionOf } from '../sections.ts';
import { comparableForm, type StoredForm, storedForm } from '../stored-form.ts';
import {
  type ConfigDifference,
  fieldChanges,
  moduleFields,
  redirectedSecrets,
  type SecretValues,
  shownFields,
  type WantedForm,
  writeValues,
} from './field-changes.ts';
import {
  creationOrder,
  type FieldChange,
  type ObjectChange,
  operationId,
  type PlannedOperation,
  replaceIds,
  textsIn,
} from './object-change.ts';
import { type Pair, pairObjects } from './pair-objects.ts';

interface BuilderInput {
  readonly pairs: readonly Pair[];
  /** Ids of objects that only the server has, by their stand-ins. */
  readonly found: ReadonlyMap<string, string>;
  /** Names of the server's objects by their ids, for messages. */
  readonly names: ReadonlyMap<string, string>;
  readonly secretValue: SecretValues;
  /** Problems of objects whose secrets only the server has. */
  readonly ifCreated: ReadonlyMap<FileObject, readonly FileProblem[]>;
}

interface Built {
  readonly changes: readonly ObjectChange[];
  readonly operations: readonly PlannedOperation[];
  readonly problems: readonly FileProblem[];
}

/**
 * Builds the tree of changes and the operations: first new objects, in the order of their references, then changes,
 * then deletions.
 */
export class ChangeBuilder {
  readonly #input: BuilderInput;
  readonly #byStandIn: ReadonlyMap<string, Pair>;
  readonly #names = new Map<string, string>();
  /** Ids by stand-ins: of existing objects, and results of operations. */
  readonly #ids = new Map<string, JsonValue>();
  readonly #replaced = new Set<Pair>();
  readonly #visiting = new Set<FileObject>();
  /** The one before it with the same name: they are numbered in the order of their creation. */
  readonly #namesakes: ReadonlyMap<Pair, Pair>;
  readonly #problems: FileProblem[] = [];
  readonly #creates: PlannedOperation[] = [];
  readonly #updates: PlannedOperation[] = [];
  readonly #deletes: PlannedOperation[] = [];
  readonly #changes = new Map<Pair, ObjectChange>();

  constructor(input: BuilderInput) {
    this.#input = input;
    this.#namesakes = namesakesOf(input.pairs);
    this.#byStandIn = new Map(input.pairs.map((pair) => [pair.file.id, pair]));
    for (const [standIn, id] of input.found) this.#ids.set(standIn, id);
    for (const pair of input.pairs) {
      this.#names.set(pair.file.id, pair.file.name);
      if (pair.installed === null) continue;
      if (this.#needsReplacement(pair)) this.#replaced.add(pair);
      else this.#ids.set(pair.file.id, pair.installed.id);
    }
  }

  build(pruned: readonly InstalledObject[]): Built {
    const bySection = Map.groupBy(this.#input.pairs, ({ file }) => sectionOf(file.kind.resource.kind) ?? '');
    for (const section of creationOrder()) {
      for (const pair of bySection.get(section) ?? []) if (this.#isNew(pair)) this.#create(pair);
    }
    for (const pair of this.#input.pairs) if (!this.#isNew(pair)) this.#update(pair);
    for (const object of pruned) this.#deletes.push({ method: 'DELETE', path: pathOf(object.kind, object.id, null) });
    const changes = this.#input.pairs.flatMap((pair) => this.#changes.get(pair) ?? []);
    const removals = pruned.map((object) => removal(object));
    return {
      changes: [...changes, ...removals],
      operations: [...this.#creates, ...this.#updates, ...this.#deletes],
      problems: this.#problems,
    };
  }

  /** For claims: an id, or what stands for the result of an operation. */
  idTextOf(standIn: string): string {
    const id = this.#ids.get(standIn);
    return typeof id === 'string' ? id : operationId((id as { readonly $ref: number } | undefined)?.$ref ?? 0);
  }

  #isNew(pair: Pair): boolean {
    return pair.installed === null || this.#replaced.has(pair);
  }

  /** A kind, or a field that cannot be changed, is another one. */
  #needsReplacement({ file, installed }: Pair): boolean {
    if (installed === null) return false;
    if (file.kind !== installed.kind) return true;
    const { resource } = file.kind;
    const { changed } = fieldChanges(
      resource.config,
      this.#wanted(file.kind, file),
      presentForm(installed),
      this.#input.secretValue,
    );
    return (resource.immutable ?? []).some((field) => changed.has(field));
  }

  #create(pair: Pair): void {
    const { file } = pair;
    if (this.#ids.has(file.id)) return;
    if (this.#visiting.has(file)) {
      const { file: name, line } = file;
      this.#problems.push({
        file: name,
        line,
        problem: `${quoted(file.name)} refers to itself through other objects: remove one of the references`,
      });
      return;
    }
    this.#visiting.add(file);
    const namesake = this.#namesakes.get(pair);
    if (namesake !== undefined && this.#isNew(namesake) && !this.#visiting.has(namesake.file)) this.#create(namesake);
    for (const standIn of referencesOf(file)) {
      const target = this.#byStandIn.get(standIn);
      if (target !== undefined && this.#isNew(target)) this.#create(target);
    }
    if (pair.installed !== null)
      this.#deletes.push({ method: 'DELETE', path: pathOf(pair.installed.kind, pair.installed.id, null) });
    const children = this.#post(file, null);
    const action = pair.installed === null ? 'add' : 'replace';
    this.#changes.set(pair, { action, kind: file.kind, name: file.name, fields: this.#allFields(file), children });
  }

  /** The create of an object and of its children. */
  #post(file: FileObject, parent: string | null): readonly ObjectChange[] {
    const { kind } = file;
    this.#problems.push(...(this.#input.ifCreated.get(file) ?? []));
    const body = this.#createBody(file, parent);
    this.#ids.set(file.id, { $ref: this.#creates.length, field: 'id' });
    this.#creates.push({ method: 'POST', path: collectionOf(kind, parent), body });
    const own = this.idTextOf(file.id);
    return file.children.map((child) => {
      const children = this.#post(child, own);
      return { action: 'add', kind: child.kind, name: child.name, fields: this.#allFields(child), children };
    });
  }

  #createBody(file: FileObject, parent: string | null): JsonObject {
    const { secretValue } = this.#input;
    const { resource, modules } = file.kind;
    const own = writeValues(resource.config, null, { wanted: file, present: null, secretValue });
    const inline = modules.flatMap((module): [string, JsonValue][] => {
      const wanted = file.modules.get(module.name);
      return wanted === undefined
        ? []
        : [[module.name, writeValues(module.config, null, { wanted, present: null, secretValue })]];
    });
    const body = replaceIds({ ...own, ...Object.fromEntries(inline) }, (standIn) => this.#ids.get(standIn));
    const field = resource.parent !== undefined && 'field' in resource.parent ? resource.parent.field : null;
    return field === null || parent === null ? body : { ...body, [field]: parentReference(parent) };
  }

  #update(pair: Pair): void {
    const change = this.#changed(pair.file, pair.installed as InstalledObject, null);
    if (change !== null) this.#changes.set(pair, change);
  }

  /** The writes that change an existing object, and what they change; null: nothing. */
  #changed(file: FileObject, installed: InstalledObject, parentId: string | null): ObjectChange | null {
    const { kind } = file;
    const { secretValue } = this.#input;
    const present = presentForm(installed);
    const wanted = this.#wanted(kind, file);
    const own = fieldChanges(kind.resource.config, wanted, present, secretValue);
    this.#redirected(file, redirectedSecrets(kind.resource.config, wanted, present));
    const path = pathOf(kind, installed.id, parentId);
    const fields: FieldChange[] = [...own.fields];
    const removals = kind.modules.filter(({ name }) => isSet(installed.document[name]) && !file.modules.has(name));
    const modules = kind.modules.flatMap((module) => {
      const config = file.modules.get(module.name);
      if (config === undefined) return [];
      const before = installed.document[module.name];
      const read = isSet(before) ? storedForm(module.config, before as JsonObject) : null;
      const real = { ...this.#real(config), config: storedForm(module.config, this.#real(config).config).config };
      const difference = fieldChanges(module.config, real, read, secretValue);
      const isAdded = read === null;
      if (!isAdded) this.#redirected(file, redirectedSecrets(module.config, real, read, [module.name]));
      if (!isAdded && difference.fields.length === 0) return [];
      const body = writeValues(module.config, null, { wanted: config, present: read?.secrets ?? null, secretValue });
      fields.push(...(isAdded ? moduleFields(module, config) : within(module.name, difference.fields)));
      return [{ name: module.name, body, isDecided: isAdded || difference.changed.size > 0 }];
    });
    fields.push(...removals.map(({ name }): FieldChange => ({ path: name, before: {} })));
    const { names, cleared } = namesToSend(kind, own, wanted);
    const children = this.#children(file, installed);
    if (fields.length === 0 && children.length === 0) return null;
    const change: ObjectChange = { action: 'change', kind, name: file.name, fields: this.#shown(fields), children };
    const values = writeValues(kind.resource.config, names, { wanted: file, present: present.secrets, secretValue });
    const body = { ...values, ...Object.fromEntries(modules.map((module) => [module.name, module.body])) };
    if (Object.keys(body).length > 0) {
      const isDecided = own.changed.size > cleared.length || modules.some((module) => module.isDecided);
      this.#updates.push({
        method: 'PATCH',
        path,
        body: replaceIds(body, (standIn) => this.#ids.get(standIn)),
        ...(!isDecided && {
          undecided: { object: change, isWhole: removals.length + cleared.length + children.length === 0 },
        }),
      });
    }
    for (const name of [...removals.map((module) => module.name), ...cleared]) {
      this.#updates.push({ method: 'DELETE', path: `${path}/${name}` });
    }
    return change;
  }

  #redirected({ file, line, name }: FileObject, problems: readonly string[]): void {
    this.#problems.push(...problems.map((problem) => ({ file, line, problem: `${quoted(name)}: ${problem}` })));
  }

  /** The files describe an object with all of its children: others are removed. */
  #children(file: FileObject, installed: InstalledObject): readonly ObjectChange[] {
    const { pairs, rest } = pairObjects(file.children, installed.children);
    const removed = rest.map((child) => {
      this.#deletes.push({ method: 'DELETE', path: pathOf(child.kind, child.id, installed.id) });
      return removal(child);
    });
    const changed = pairs.flatMap((pair): readonly ObjectChange[] => {
      if (pair.installed !== null && !this.#needsReplacement(pair)) {
        const change = this.#changed(pair.file, pair.installed, installed.id);
        return change === null ? [] : [change];
      }
      const children = this.#post(pair.file, installed.id);
      if (pair.installed !== null) {
        this.#deletes.push({ method: 'DELETE', path: pathOf(pair.file.kind, pair.installed.id, installed.id) });
      }
      const action = pair.installed === null ? 'add' : 'replace';
      return [{ action, kind: pair.file.kind, name: pair.file.name, fields: this.#allFields(pair.file), children }];
    });
    return [...changed, ...removed];
  }

  #wanted(kind: ObjectKind, file: FileConfig): WantedForm {
    const { config } = this.#real(file);
    return { config: comparableForm(kind, storedForm(kind.resource.config, config)).config, secrets: file.secrets };
  }

  /** With the ids of existing objects. */
  #real({ config, secrets }: FileConfig): WantedForm {
    return {
      config: replaceIds(config, (standIn) => {
        const id = this.#ids.get(standIn);
        return typeof id === 'string' ? id : undefined;
      }),
      secrets,
    };
  }

  #allFields(file: FileObject): readonly FieldChange[] {
    return this.#shown(shownFields(file));
  }

  #shown(fields: readonly FieldChange[]): readonly FieldChange[] {
    const nameOf = (id: string): string | undefined => this.#names.get(id) ?? this.#input.names.get(id);
    return fields.map((field) => replaceIds(field as unknown as JsonObject, nameOf) as unknown as FieldChange);
  }
}

function namesakesOf(pairs: readonly Pair[]): ReadonlyMap<Pair, Pair> {
  const last = new Map<string, Pair>();
  const found = new Map<Pair, Pair>();
  for (const pair of pairs) {
    const { kind, config } = pair.file;
    const key = `${kind.resource.listKey}\0${baseName(kind, config)}`;
    const before = last.get(key);
    if (before !== undefined) found.set(pair, before);
    last.set(key, pair);
  }
  return found;
}

function presentForm(installed: InstalledObject): StoredForm {
  return comparableForm(installed.kind, storedForm(installed.kind.resource.config, installed.document));
}

/** The fields to send, and those that a DELETE of their own resets: null in a body counts as absent. */
function namesToSend(
  { resource }: ObjectKind,
  { changed, undecided }: ConfigDifference,
  wanted: WantedForm,
): { readonly names: ReadonlySet<string>; readonly cleared: readonly string[] } {
  const cleared = [...changed].filter((name) => name in resource.config.properties && wanted.config[name] === null);
  return { names: new Set([...changed, ...undecided].filter((name) => !cleared.includes(name))), cleared };
}

function isSet(value: JsonValue | undefined): boolean {
  return value !== undefined && value !== null;
}

function within(module: string, fields: readonly FieldChange[]): readonly FieldChange[] {
  return fields.map((field) => ({ ...field, path: `${module}.${field.path}` }));
}

function removal({ kind, name, children }: InstalledObject): ObjectChange {
  return { action: 'remove', kind, name, fields: [], children: children.map(removal) };
}

function* referencesOf(file: FileObject): Iterable<string> {
  yield* textsIn(file.config);
  for (const { config } of file.modules.values()) yield* textsIn(config);
  for (const child of file.children) yield* referencesOf(child);
}

function collectionOf({ resource }: ObjectKind, parent: string | null): string {
  return resource.path.replace(/\{[^}]+\}/, parent ?? '');
}

function pathOf(kind: ObjectKind, id: string, parent: string | null): string {
  return `${collectionOf(kind, parent)}/${id}`;
}

function parentReference(parent: string): JsonValue {
  const operation = /^\$\{(\d+)\.id\}$/.exec(parent)?.[1];
  return operation === undefined ? parent : { $ref: Number(operation), field: 'id' };
}
