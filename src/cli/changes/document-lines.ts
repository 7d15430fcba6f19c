import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';
import { printable } from '../api/cell-text.ts';
import { type ChangedDocument, objectText } from './change.ts';

/** Which way a document goes: as the change did it, or back. */
export type Direction = 'change' | 'undo';

const INDENT = '    ';

/** A document that comes (+), goes (-) or changes (~), then its fields. Secrets are masked by the API. */
export function documentLines(document: ChangedDocument, direction: Direction): readonly string[] {
  const [from, to] = direction === 'change' ? [document.before, document.after] : [document.after, document.before];
  const title = printable(objectText(document));
  if (to === null) return [`- ${title}`];
  if (from === null) return [`+ ${title}`, ...fieldsOf(to).map(([name, value]) => `${INDENT}${name}: ${value}`)];
  const [old, now] = [new Map(fieldsOf(from)), new Map(fieldsOf(to))];
  const names = [...new Set([...old.keys(), ...now.keys()])].filter((name) => old.get(name) !== now.get(name));
  const lines = [
    ...names.map((name) => `${INDENT}${name}: ${old.get(name) ?? 'unset'} -> ${now.get(name) ?? 'unset'}`),
    ...document.changed_secrets.map((field) => `${INDENT}${secretName(field)}: another secret`),
  ];
  return [`~ ${title}`, ...(lines.length === 0 ? [`${INDENT}nothing changed`] : lines)];
}

/** Every set field by its dotted name. */
function fieldsOf(object: JsonObject, path: readonly string[] = []): readonly (readonly [string, string])[] {
  return Object.entries(object).flatMap(([name, value]) => {
    const inner = [...path, name];
    if (isJsonObject(value) && typeof value['id'] === 'string' && 'uri' in value) {
      return [[printable(inner.join('.')), printable(value['id'])] as const];
    }
    if (isJsonObject(value) && Object.keys(value).length > 0) return fieldsOf(value, inner);
    return isUnset(value) ? [] : [[printable(inner.join('.')), printable(JSON.stringify(value))] as const];
  });
}

function isUnset(value: JsonValue | undefined): boolean {
  return value === null || value === undefined || value === '';
}

function secretName(pointer: string): string {
  return printable(pointer.slice(1).replaceAll('/', '.'));
}
