import type { JsonObject } from '../../kit/json.ts';
import type { ReferenceAnnotation } from '../../kit/schema/annotations.ts';
import { didYouMean } from '../../kit/text/near-match.ts';
import type { YamlEntry, YamlMap } from '../../kit/text/yaml/plain-yaml.ts';
import { type FileProblem, quoted } from './format.ts';
import { type ObjectKind, objectKind, type Section, sectionOf } from './sections.ts';
import type { FileSecret } from './wire-body.ts';

interface FilePlace {
  readonly file: string;
  readonly line: number;
}

/** Part of an object with a schema of its own: its fields, or one of its modules. */
export interface FileConfig {
  /** Every field but secrets, with defaults, and with stand-ins for the ids of other objects. */
  readonly config: JsonObject;
  /** By JSON pointer. */
  readonly secrets: ReadonlyMap<string, FileSecret>;
}

/** An object of the files, checked without a server. */
export interface FileObject extends FileConfig, FilePlace {
  readonly kind: ObjectKind;
  readonly name: string;
  /** Stands for its id in references. */
  readonly id: string;
  readonly modules: ReadonlyMap<string, FileConfig>;
  readonly children: readonly FileObject[];
}

/** A name that the files use and do not have: it may exist on the server. */
export interface MissingName extends FilePlace {
  readonly section: string;
  readonly name: string;
  /** Stands for its id in references. */
  readonly id: string;
  readonly problem: string;
}

const ID_DIGITS = 27;

/** Ids that stand for those of objects: well-formed, and unlike any real one, whose first digits are its time. */
export class StandInIds {
  #count = 0;

  next(idPrefix: string): string {
    this.#count += 1;
    return `${idPrefix}_${String(this.#count).padStart(ID_DIGITS, '0')}`;
  }
}

/** An object of a file that is known by name and not yet read. */
export interface PlacedEntry extends FilePlace {
  readonly kind: ObjectKind;
  readonly name: string;
  readonly id: string;
  readonly map: YamlMap;
  /** Whether the file names the kind. */
  readonly isKindNamed: boolean;
}

/** The objects of the files by section and name. */
export class NameIndex {
  readonly #ids: StandInIds;
  readonly #entries = new Map<string, Map<string, PlacedEntry>>();
  readonly #missing = new Map<string, MissingName>();

  constructor(ids: StandInIds) {
    this.#ids = ids;
  }

  add(
    section: Section,
    name: string,
    place: { readonly file: string; readonly entry: YamlEntry },
  ): PlacedEntry | FileProblem {
    const { file } = place;
    const { line, node } = place.entry;
    const at = `${section.key} > ${quoted(name)}`;
    const fail = (problem: string): FileProblem => ({ file, line, problem: `${at} ${problem}` });
    const isEmpty = node.type === 'scalar' && node.value === null;
    if (node.type !== 'map' && !isEmpty) return fail('must be a map with the fields of the object');
    const map: YamlMap = node.type === 'map' ? node : { type: 'map', line, entries: new Map() };
    const kind = kindIn(section, map);
    if (typeof kind === 'string') return fail(kind);
    const names = this.#entries.get(section.key) ?? new Map<string, PlacedEntry>();
    this.#entries.set(section.key, names);
    const before = names.get(name);
    if (before !== undefined)
      return fail(`is also in ${before.file}, line ${before.line}: give one of them another name`);
    const id = this.idFor(kind);
    const entry = { kind, name, id, map, file, line, isKindNamed: section.kinds.length > 1 };
    names.set(name, entry);
    return entry;
  }

  idFor(kind: ObjectKind): string {
    return this.#ids.next(kind.resource.idPrefix);
  }

  /** The id that stands for a name. A name that no file has gets one as well: it may exist on the server. */
  find(name: string, { kinds }: ReferenceAnnotation, place: FilePlace): string {
    const isOwnId = kinds.some((kind) => isIdOf(objectKind(kind), name));
    if (isOwnId) return name;
    const [section = ''] = kinds.flatMap((kind) => sectionOf(kind) ?? []);
    const names = this.#entries.get(section);
    const found = names?.get(name);
    if (found !== undefined) return found.id;
    const key = JSON.stringify([section, name]);
    const known = this.#missing.get(key);
    if (known !== undefined) return known.id;
    const [first] = kinds.flatMap((kind) => objectKind(kind) ?? []);
    const near = didYouMean(name, names?.keys() ?? []);
    const missing: MissingName = {
      ...place,
      section,
      name,
      id: this.#ids.next(first?.resource.idPrefix ?? 'x'),
      problem: `no object in "${section}" is named ${quoted(name)}.${near} Add it, or correct the name`,
    };
    this.#missing.set(key, missing);
    return missing.id;
  }

  missing(): readonly MissingName[] {
    return [...this.#missing.values()];
  }
}

function isIdOf(kind: ObjectKind | undefined, name: string): boolean {
  return kind !== undefined && new RegExp(`^${kind.resource.idPrefix}_[0-9A-Za-z]{27}$`).test(name);
}

function kindIn({ kinds }: Section, map: YamlMap): ObjectKind | string {
  const [only] = kinds;
  if (kinds.length === 1 && only !== undefined) return only;
  const labels = kinds.map(({ label }) => label);
  const node = map.entries.get('kind')?.node;
  if (node === undefined) return `needs "kind": one of ${labels.join(', ')}`;
  const given = node.type === 'scalar' ? String(node.value) : '';
  const found = kinds.find(({ label }) => label === given);
  return (
    found ??
    `has the kind ${quoted(given)}, which does not exist.${didYouMean(given, labels)} Kinds: ${labels.join(', ')}`
  );
}
