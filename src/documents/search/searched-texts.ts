import type { JsonValue } from '../../lib/json.ts';
import type { RecordReader } from '../../replica/record-reader.ts';
import type { StoredRecord } from '../../store/store.ts';

/** A text of a record that a search looks at. `field` is the wire name that a result shows. */
export interface SearchedText {
  readonly field: string;
  readonly text: string;
}

/** The fields that people know a resource by, best first. Documents hold no secrets: those are stored apart. */
const FIELDS = [
  ...['hostports', 'domain', 'hostname', 'match', 'name', 'email', 'address', 'cidr', 'url', 'labels'],
  ...['description', 'metadata'],
];
/** A route of an edge with a thousand names is found by the first ones. */
const MAX_HOSTS = 10;

/** A route is found by host and path together, as people write it. */
export function* searchedTexts(record: StoredRecord, reader: RecordReader): Generator<SearchedText> {
  yield { field: 'id', text: record.id };
  for (const field of FIELDS) {
    for (const text of textsOf(record.doc[field])) yield { field, text: withoutPort(text) };
  }
  const { match } = record.doc;
  if (typeof match !== 'string') return;
  for (const host of hostsAbove(record, reader)) yield { field: 'match', text: `${host}${match}` };
}

/** What a person calls the resource. */
export function titleOf(record: StoredRecord, reader: RecordReader): string {
  const { match } = record.doc;
  if (typeof match === 'string') return `${hostsAbove(record, reader)[0] ?? ''}${match}`;
  for (const field of FIELDS) {
    const texts = field === 'metadata' ? [] : [...textsOf(record.doc[field])].filter((text) => text !== '');
    if (texts.length > 0) return texts.slice(0, 3).map(withoutPort).join(', ');
  }
  return record.id;
}

function hostsAbove({ parent }: StoredRecord, reader: RecordReader): readonly string[] {
  const edge = parent === null ? undefined : reader.get('https_edge', parent);
  return [...textsOf(edge?.doc['hostports'])].slice(0, MAX_HOSTS).map(withoutPort);
}

function* textsOf(value: JsonValue | undefined): Generator<string> {
  if (typeof value === 'string') yield value;
  else if (Array.isArray(value)) for (const each of value) yield* textsOf(each);
  else if (typeof value === 'object' && value !== null) {
    for (const [name, each] of Object.entries(value)) if (typeof each === 'string') yield `${name}=${each}`;
  }
}

function withoutPort(hostport: string): string {
  return hostport.replace(/:443$/, '');
}
