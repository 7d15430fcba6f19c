import { isJsonObject, type JsonObject, type JsonValue } from '../lib/json.ts';
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
