import type { JsonObject } from '../lib/json.ts';
import type { ObjectKind } from './sections.ts';
import type { ReadSecret, StoredForm } from './stored-form.ts';

/** What the server wrote into a configuration by itself and the file does not repeat, by kind. */
const WRITTEN_BY_SERVER: ReadonlyMap<string, (config: JsonObject) => readonly string[]> = new Map([
  // The text of a certificate with files is what was read last.
  [
    'tls_certificate',
    (config) => ((config['certificate_file'] ?? '') === '' ? [] : ['certificate_pem', 'private_key_pem']),
  ],
]);

/** A stored form as the file shows it: normalized, without what the server computes. */
export function comparableForm({ resource }: ObjectKind, { config, secrets }: StoredForm): StoredForm {
  const left = new Set(WRITTEN_BY_SERVER.get(resource.kind)?.(config) ?? []);
  const parentField = resource.parent !== undefined && 'field' in resource.parent ? resource.parent.field : null;
  if (parentField !== null) left.add(parentField);
  const normalized = (resource.normalize?.(config as never) ?? config) as JsonObject;
  return {
    config: Object.fromEntries(Object.entries(normalized).filter(([name]) => !left.has(name))),
    secrets: new Map([...secrets].filter(([pointer]): boolean => !left.has(pointer.slice(1)))) as ReadonlyMap<
      string,
      ReadSecret
    >,
  };
}
