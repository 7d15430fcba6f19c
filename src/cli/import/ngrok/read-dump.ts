import { isJsonObject, type JsonObject, type JsonValue } from '../../../lib/json.ts';
import { type ImportReport, textFor } from '../import-report.ts';
import { parseJsonInput } from '../parse-input.ts';
import { type ImportInput, inputError } from '../read-input.ts';
import { BACKEND_PREFIXES, RETIRED_LISTS } from './retired-lists.ts';

/** Fields of an answer beside its list. */
const ENVELOPE = ['uri', 'next_page_uri'];

/**
 * Saved answers of the retired API: one object of list key → array (`https_edges`, `backends`, `ip_policies`, …), or a list of
 * such objects, such as the pages as they were answered.
 */
export function readDump(input: ImportInput, report: ImportReport): Map<string, JsonObject[]> {
  const value = parseJsonInput(input);
  const answers: readonly JsonValue[] = Array.isArray(value) ? (value as readonly JsonValue[]) : [value];
  const documents = new Map<string, JsonObject[]>();
  const seen = new Set<string>();
  const known = new Set(RETIRED_LISTS.flatMap(({ key, listKey }) => [key, listKey]));
  for (const [index, answer] of answers.entries()) {
    if (!isJsonObject(answer)) throw inputError(input.name, null, `answer ${index} is not an object`);
    if (typeof answer['next_page_uri'] === 'string' && answers.length === 1) {
      report.note(`the dump has only the first page of a list: save the answer of ${answer['next_page_uri']} too`);
    }
    for (const [key, items] of Object.entries(answer)) {
      if (ENVELOPE.includes(key)) continue;
      const isList = Array.isArray(items) && items.every((item) => isJsonObject(item));
      if (known.has(key) && !isList) throw inputError(input.name, null, `"${key}" is not a list of objects`);
      if (!known.has(key)) {
        report.dropFields([key], items as JsonValue, 'this import does not know it');
        continue;
      }
      for (const item of items as readonly JsonObject[]) {
        // Pages may have been saved twice.
        const { id } = item;
        if (typeof id === 'string' && seen.has(`${key} ${id}`)) continue;
        if (typeof id === 'string') seen.add(`${key} ${id}`);
        add(documents, keyOf(key, item), item);
      }
    }
  }
  if (documents.size === 0) {
    throw inputError(input.name, 1, 'has no list of the retired API, such as "https_edges"');
  }
  return documents;
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
