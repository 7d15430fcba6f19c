import { isJsonObject, type JsonObject, type JsonValue } from '../lib/json.ts';
import { didYouMean } from '../lib/text/near-match.ts';
import { type InstallationDocuments, type InstalledObject, installedObjects } from './documents.ts';
import { sections } from './sections.ts';

export type Selection = { readonly documents: InstallationDocuments } | { readonly problem: string };

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
