import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from '../../../lib/json.ts';
import { type ImportReport, isUnset, textFor } from '../import-report.ts';
import { parseJsonInput } from '../parse-input.ts';
import { type ImportInput, inputError } from '../read-input.ts';
import type { RetiredDocuments } from './lost-restrictions.ts';
import { BACKEND_PREFIXES, RETIRED_LISTS } from './retired-lists.ts';

/** Fields of an answer beside its list. */
const ENVELOPE = ['uri', 'next_page_uri'];

/**
 * Saved answers of the retired API: one object of list key → array (`https_edges`, `backends`, `ip_policies`, …), or a list of
 * such objects, such as the pages as they were answered, in their order.
 */
export function readDump(input: ImportInput, report: ImportReport): RetiredDocuments {
  const value = parseJsonInput(input);
  const answers: readonly JsonValue[] = Array.isArray(value) ? (value as readonly JsonValue[]) : [value];
  const documents = new Map<string, JsonObject[]>();
  const seen = new Map<string, string>();
  const pages = new Map<string, JsonObject[]>();
  const known = new Set(RETIRED_LISTS.flatMap(({ key, listKey }) => [key, listKey]));
  for (const [index, answer] of answers.entries()) {
    if (!isJsonObject(answer)) throw inputError(input.name, null, `answer ${index} is not an object`);
    for (const [key, items] of Object.entries(answer)) {
      if (ENVELOPE.includes(key)) continue;
      const isList = Array.isArray(items) && items.every((item) => isJsonObject(item));
      if (known.has(key) && !isList) throw inputError(input.name, null, `"${key}" is not a list of objects`);
      if (!known.has(key)) {
        report.dropFields([key], items as JsonValue, 'this import does not know it');
        continue;
      }
      pages.set(key, [...(pages.get(key) ?? []), answer]);
      documents.set(key, documents.get(key) ?? []);
      for (const item of items as readonly JsonObject[]) {
        const { id } = item;
        const text = canonicalJson(item);
        const before = typeof id === 'string' ? seen.get(`${key} ${id}`) : undefined;
        // Pages may have been saved twice, but which of two forms has the rules that count?
        if (before !== undefined && before !== text) {
          throw inputError(
            input.name,
            null,
            `has ${String(id as string)} twice, with different fields: remove the older one`,
          );
        }
        if (before !== undefined) continue;
        if (typeof id === 'string') seen.set(`${key} ${id}`, text);
        add(documents, keyOf(key, item), item);
      }
    }
  }
  if (documents.size === 0) {
    throw inputError(input.name, 1, 'has no list of the retired API, such as "https_edges"');
  }
  const partial = new Set(Array.from(pages).flatMap(([key, own]) => (areWhole(own) ? [] : [key])));
  for (const key of partial) report.drop([key], 'the dump does not have all pages of this list: save the others too');
  return { documents, partial };
}

/** Whether the pages of a list lead from one to the next. Their own addresses may say where each begins. */
function areWhole(pages: readonly JsonObject[]): boolean {
  const starts = pages.map(({ uri }) => startOf(uri));
  const nexts = pages.map(({ next_page_uri: next }) => (isUnset(next) ? null : startOf(next)));
  const follows = nexts.every((next, at) => {
    if (next === null || (next !== '' && starts.includes(next))) return true;
    return at + 1 < pages.length && starts[at + 1] === '';
  });
  return follows && starts.every((start) => start === '' || nexts.includes(start));
}

/** Empty: the address does not say. */
function startOf(uri: JsonValue | undefined): string {
  if (typeof uri !== 'string' || !URL.canParse(uri, 'https://localhost')) return '';
  return new URL(uri, 'https://localhost').searchParams.get('before_id') ?? '';
}

function keyOf(key: string, { id }: JsonObject): string {
  if (key !== 'backends') return key;
  const [prefix = ''] = typeof id === 'string' ? id.split('_') : [];
  return textFor(BACKEND_PREFIXES, prefix, key);
}

function add(documents: Map<string, JsonObject[]>, key: string, item: JsonObject): void {
  const items = documents.get(key) ?? [];
  items.push(item);
  documents.set(key, items);
}
