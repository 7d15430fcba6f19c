import type { Document } from '../api/use-pages.ts';
import { textAt } from '../format/text.ts';

/** What people call a document by, best first. */
export const NAMING_FIELDS = [
  'public_url',
  'name',
  'description',
  'domain',
  'hostname',
  'label',
  'email',
  'subject_common_name',
  'cidr',
  'address',
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
  const types = eventTypes(document);
  if (types !== '') return types;
  const target = targetText(document);
  if (target !== '') return target;
  return textAt(document, 'id') || textAt(document, 'revision') || 'unnamed';
}

/** Where an event destination sends events: `webhook: https://hooks.example.com/`; empty for other documents. */
export function targetText(document: Document): string {
  const target = document['target'];
  if (typeof target !== 'object' || target === null) return '';
  for (const [kind, config] of Object.entries(target as Record<string, Document | null>)) {
    const place = config === null ? '' : textAt(config, 'url') || textAt(config, 'name');
    if (place !== '') return `${kind}: ${place}`;
  }
  return '';
}

/** What an event subscription reports; empty for other documents. */
export function eventTypes(document: Document): string {
  const sources = document['sources'];
  if (!Array.isArray(sources)) return '';
  const types = (sources as readonly Document[]).map((source) => textAt(source, 'type'));
  return types.length > 3 ? `${types.slice(0, 3).join(', ')} and ${types.length - 3} more` : types.join(', ');
}
