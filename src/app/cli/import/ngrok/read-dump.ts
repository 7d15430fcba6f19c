import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from '../../../../kit/json.ts';
import { type ImportReport, isUnset, textFor } from '../import-report.ts';
import { type ImportInput, inputError, parseJsonInput } from '../read-input.ts';
import type { RetiredDocuments } from './lost-restrictions.ts';

/** Fields of an answer beside its list. */
const ENVELOPE = ['uri', 'next_page_uri'];

/**
 * Saved answers of the retired API: one object of list key → array (`https_edges`, `backends`, `ip_policies`, …), or a
 * list of such objects, such as the pages as they were answered, in their order.
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

/** A list of the retired API. */
interface RetiredList {
  readonly path: string;
  /** Field of the answer that has the items. */
  readonly listKey: string;
  /** Key under which the documents are kept: every kind of backend has its own. */
  readonly key: string;
  /** Null: Postern has the same resource. */
  readonly notCarried: string | null;
}

const STREAMS = 'Postern has no edges for it: start an agent with "postern tcp" or "postern tls" instead';

export const RETIRED_LISTS: readonly RetiredList[] = [
  list('/edges/https', 'https_edges'),
  list('/edges/tcp', 'tcp_edges', STREAMS),
  list('/edges/tls', 'tls_edges', STREAMS),
  ...['tunnel_group', 'failover', 'weighted', 'http_response', 'static'].map((kind) => ({
    path: `/backends/${kind}`,
    listKey: 'backends',
    key: `${kind}_backends`,
    notCarried: null,
  })),
  list('/certificate_authorities', 'certificate_authorities'),
  list('/tls_certificates', 'tls_certificates'),
  list('/reserved_domains', 'reserved_domains'),
  list(
    '/reserved_addrs',
    'reserved_addrs',
    'Postern reserves no TCP addresses: an agent asks for a port of the server',
  ),
  list('/ip_policies', 'ip_policies'),
  list('/ip_policy_rules', 'ip_policy_rules'),
  list('/ip_restrictions', 'ip_restrictions', 'Postern restricts addresses per route: use the module ip_restriction'),
];

/** The prefix of an id shows the kind of a backend in a dump. */
const BACKEND_PREFIXES: Readonly<Record<string, string>> = {
  bkdtg: 'tunnel_group_backends',
  bkdfo: 'failover_backends',
  bkdwd: 'weighted_backends',
  bkdhr: 'http_response_backends',
  bkdsc: 'static_backends',
};

function list(path: string, key: string, notCarried: string | null = null): RetiredList {
  return { path, listKey: key, key, notCarried };
}
