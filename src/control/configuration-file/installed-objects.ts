import { isJsonObject, type JsonObject, type JsonValue } from '../../kit/json.ts';
import { didYouMean } from '../../kit/text/near-match.ts';
import { type NamedObject, nameObjects } from './object-names.ts';
import { type ObjectKind, type Section, sections } from './sections.ts';

/**
 * What the API lists, by list key (`https_edges`, `ip_policies`); each kind of backend has its own (`static_backends`).
 * Routes are inside edge documents, as the API returns them.
 */
export type InstallationDocuments = Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>;

export interface InstalledObject {
  readonly kind: ObjectKind;
  readonly id: string;
  readonly name: string;
  /** As the API returned it. */
  readonly document: JsonObject;
  readonly children: readonly InstalledObject[];
}

/** The objects of an installation by section, in the order of their ids. */
export function installedObjects(documents: InstallationDocuments): ReadonlyMap<string, readonly InstalledObject[]> {
  return new Map(sections.map((section) => [section.key, objectsOf(section, documents)]));
}

function objectsOf(section: Section, documents: InstallationDocuments): readonly InstalledObject[] {
  const found = section.kinds.flatMap((kind) =>
    (documents[kind.documentsKey] ?? []).map((document) => toName(kind, document as JsonObject)),
  );
  const inFields = section.kinds.flatMap(({ children }) =>
    [...children.values()].flatMap((child) => childrenByParent(child, documents)),
  );
  return named(found, inFields);
}

interface ParentedDocument {
  readonly kind: ObjectKind;
  readonly parentId: string;
  readonly document: JsonObject;
}

/** Children that the API lists on their own and that name their parent in a field, such as the rules of a policy. */
function childrenByParent(kind: ObjectKind, documents: InstallationDocuments): readonly ParentedDocument[] {
  return (documents[kind.documentsKey] ?? []).flatMap((given) => {
    const document = given as JsonObject;
    const parentId = parentIdOf(kind, document);
    return parentId === null ? [] : [{ kind, parentId, document }];
  });
}

function parentIdOf({ resource: { parent } }: ObjectKind, document: JsonObject): string | null {
  if (parent === undefined || !('field' in parent)) return null;
  const value = document[parent.field] ?? document[parent.kind];
  const id = isJsonObject(value) ? value['id'] : value;
  return typeof id === 'string' ? id : null;
}

function named(
  objects: readonly NamedObject<JsonObject>[],
  parented: readonly ParentedDocument[],
): readonly InstalledObject[] {
  const byParent = Map.groupBy(parented, ({ parentId }) => parentId);
  return [...nameObjects(objects)].map(([name, { kind, id, of: document }]) => {
    const children = [...kind.children].flatMap(([field, child]) => {
      const inline = Array.isArray(document[field]) ? (document[field] as readonly JsonValue[]) : [];
      const listed = (byParent.get(id) ?? []).filter((each) => each.kind === child).map((each) => each.document);
      return named(
        [...inline.filter(isJsonObject), ...listed].map((each) => toName(child, each)),
        [],
      );
    });
    return { kind, id, name, document, children };
  });
}

function toName(kind: ObjectKind, document: JsonObject): NamedObject<JsonObject> {
  const { id } = document;
  return { kind, id: typeof id === 'string' ? id : '', config: document, of: document };
}

type Selection = { readonly documents: InstallationDocuments } | { readonly problem: string };

/** The documents that selectors such as `https_edges/*.example.com` name, and everything that those refer to. */
export function selectObjects(documents: InstallationDocuments, selectors: readonly string[]): Selection {
  if (selectors.length === 0) return { documents };
  const objects = installedObjects(documents);
  const byId = new Map([...objects.values()].flat().map((object) => [object.id, object]));
  const selected = new Set<InstalledObject>();
  for (const selector of selectors) {
    const [key = '', ...rest] = selector.split('/');
    const known = sections.map((section) => section.key);
    if (!known.includes(key)) {
      return {
        problem: `--selector names no section of the file.${didYouMean(key, known)} Sections: ${known.join(', ')}`,
      };
    }
    const isMatch = matcher(rest.length === 0 ? '*' : rest.join('/'));
    const found = (objects.get(key) ?? []).filter(({ name }) => isMatch(name));
    if (found.length === 0) return { problem: `--selector ${selector} matches nothing` };
    for (const object of found) addWithReferences(object, byId, selected);
  }
  return { documents: only(documents, selected) };
}

/** `*` stands for any characters. Without backtracking: the pieces are looked for one after the other. */
function matcher(pattern: string): (name: string) => boolean {
  const [first = '', ...others] = pattern.split('*');
  const last = others.pop();
  if (last === undefined) return (name) => name === pattern;
  return (name) => {
    if (!name.startsWith(first)) return false;
    let at = first.length;
    for (const piece of others) {
      const found = name.indexOf(piece, at);
      if (found === -1) return false;
      at = found + piece.length;
    }
    return name.length - last.length >= at && name.endsWith(last);
  };
}

function addWithReferences(
  object: InstalledObject,
  byId: ReadonlyMap<string, InstalledObject>,
  selected: Set<InstalledObject>,
): void {
  if (selected.has(object)) return;
  selected.add(object);
  for (const text of textsIn(object.document)) {
    const referred = byId.get(text);
    if (referred !== undefined) addWithReferences(referred, byId, selected);
  }
}

/** Ids are values, or keys of a map. */
function* textsIn(value: JsonValue): Iterable<string> {
  if (typeof value === 'string') yield value;
  else if (Array.isArray(value)) for (const item of value) yield* textsIn(item as JsonValue);
  else if (isJsonObject(value)) {
    for (const [name, inner] of Object.entries(value)) {
      yield name;
      yield* textsIn(inner);
    }
  }
}

function only(documents: InstallationDocuments, selected: ReadonlySet<InstalledObject>): InstallationDocuments {
  const kept = new Set<JsonObject>();
  const keep = ({ document, children }: InstalledObject): void => {
    kept.add(document);
    for (const child of children) keep(child);
  };
  for (const object of selected) keep(object);
  return Object.fromEntries(
    Object.entries(documents).map(([key, list]) => [key, list.filter((document) => kept.has(document as JsonObject))]),
  );
}
