import type { Document } from '../api/use-pages.ts';
import { textAt } from '../format/text.ts';

/** What people call a document by, best first. */
export const NAMING_FIELDS = [
  'name',
  'description',
  'domain',
  'hostname',
  'label',
  'email',
  'subject_common_name',
  'cidr',
  'address',
  'public_url',
  'hostport',
  'match',
  'ip',
  'type',
];

/** What people call it: its hosts, its name, its description, or at last its id. */
export function documentName(document: Document): string {
  const hosts = document['hostports'];
  if (Array.isArray(hosts) && hosts.length > 0)
    return hosts.map((host) => String(host).replace(/:443$/, '')).join(', ');
  for (const field of NAMING_FIELDS) {
    const value = document[field];
    if (typeof value === 'string' && value.trim() !== '') return value;
  }
  const labels = document['labels'];
  if (typeof labels === 'object' && labels !== null) {
    const text = Object.entries(labels)
      .map(([name, value]) => `${name}=${String(value)}`)
      .join(', ');
    if (text !== '') return text;
  }
  return textAt(document, 'id') || textAt(document, 'revision') || 'unnamed';
}
