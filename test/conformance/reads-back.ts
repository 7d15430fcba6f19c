import assert from 'node:assert/strict';
import type { TSchema } from 'typebox';
import { referenceAnnotation } from '../../src/kit/schema/annotations.ts';
import { itemsWithSecrets, secretVisibility } from '../../src/kit/schema/schema-facts.ts';
import type { FieldSchema } from './wrong-values.ts';

type Body = Readonly<Record<string, unknown>>;

/** Fields whose case may change: host names. */
const HOSTS = new Set(['hostports', 'domain', 'host']);
/** Fields that the server chooses when they are absent. */
const CHOSEN = new Set(['host']);

/** Every accepted value reads back as sent; an absent one, or one that counts as absent, as its default. */
export function assertReadsBack(schema: FieldSchema, sent: Body, read: Body, form: 'whole' | 'patch', at = ''): void {
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    const path = `${at}/${name}`;
    const value = sent[name];
    const isUnset =
      value === undefined || value === null || (value === '' && field.default === '') || isImpossible(value, field);
    const reference = referenceAnnotation(field as TSchema);
    const visibility = secretVisibility(field as TSchema);
    if (visibility === 'write_only') assert.ok(!(name in read), `${path} is never shown`);
    if (visibility === 'write_only' || visibility === 'masked') continue;
    if (isUnset && CHOSEN.has(name)) continue;
    if (isUnset && (form === 'patch' || field.default === undefined)) {
      if (value === '' && field.default === '') assert.equal(read[name], '', path);
      continue;
    }
    // A text without a default of its own, which the create completed, such as a time of expiry.
    if (isUnset && field.default === null && field.type === 'string') {
      assert.equal(typeof read[name], 'string', path);
      continue;
    }
    // An object without a value, such as {} or {"authority": null}, unsets a policy.
    if (read[name] === null && isObjectWithoutValue(value)) continue;
    const expected = isUnset ? field.default : value;
    if (reference?.readAs !== undefined) assert.deepEqual(idsIn(read[reference.readAs]), idsIn(expected), path);
    else if (field.properties !== undefined && typeof expected === 'object' && expected !== null)
      assertReadsBack(field, expected as Body, read[name] as Body, 'whole', path);
    else
      assert.deepEqual(
        plain(read[name], name),
        plain(withItemDefaults(field, withoutHashed(field, expected)), name),
        path,
      );
  }
}

/** A secret of which only a hash is stored reads as empty. */
function withoutHashed(field: FieldSchema, sent: unknown): unknown {
  const items = itemsWithSecrets(field as TSchema);
  if (items === null || !Array.isArray(sent)) return sent;
  const hashed = Object.entries(items.properties).filter(([, inner]) => secretVisibility(inner) === 'hashed');
  const empty = Object.fromEntries(hashed.map(([name]) => [name, '']));
  return sent.map((item: unknown) => ({ ...(item as Body), ...empty }));
}

/** Objects in lists have their defaults, too. */
function withItemDefaults({ items }: FieldSchema, sent: unknown): unknown {
  if (items?.properties === undefined || !Array.isArray(sent)) return sent;
  const defaults = Object.entries(items.properties).filter(([, inner]) => inner.default !== undefined);
  return sent.map((item: Body) => {
    const unset = defaults.filter(([name]) => [undefined, null, ''].includes(item[name] as null));
    return { ...item, ...Object.fromEntries(unset.map(([name, inner]) => [name, inner.default])) };
  });
}

function isObjectWithoutValue(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.values(value).every((inner) => inner === null);
}

/** An empty value that the field cannot have counts as absent. */
function isImpossible(value: unknown, { enum: choices, minLength, minItems, minProperties }: FieldSchema): boolean {
  const text = JSON.stringify(value);
  if (text === '""') return choices !== undefined || (minLength ?? 0) > 0;
  return (text === '[]' && (minItems ?? 0) > 0) || (text === '{}' && (minProperties ?? 0) > 0);
}

function plain(value: unknown, name: string): unknown {
  if (name === 'sources') return (value as { type: string }[]).map(({ type }) => ({ type }));
  if (name === 'expires_at') return Date.parse(value as string);
  const text = JSON.stringify(value ?? null);
  return JSON.parse(HOSTS.has(name) ? text.toLowerCase() : text);
}

function idsIn(value: unknown): unknown {
  if (value === null || value === '') return null;
  if (Array.isArray(value)) return value.map(idsIn);
  return typeof value === 'object' ? (value as { id: string }).id : value;
}
