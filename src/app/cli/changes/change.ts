import type { Transport } from '../../../client/transport.ts';
import { usage } from '../../../kit/flags.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../kit/json.ts';
import { printable } from '../output/cell-text.ts';

interface Author {
  readonly id: string;
  /** What people call it; empty: it has no name. */
  readonly name: string;
  readonly address: string | null;
  readonly via: string;
}

interface ChangedObject {
  readonly kind: string;
  readonly module?: string;
  readonly id: string;
  /** What people call it; empty: it has no name. */
  readonly name: string;
  readonly change: 'created' | 'updated' | 'deleted';
}

interface ChangedDocument extends ChangedObject {
  readonly before: JsonObject | null;
  readonly after: JsonObject | null;
  /** Pointers to fields. */
  readonly changed_secrets: readonly string[];
}

/** A change as the API shows it. */
export interface Change<T extends ChangedObject = ChangedObject> {
  readonly revision: number;
  readonly at: string;
  readonly author: Author;
  readonly message: string;
  readonly count: number;
  /** Until when it must be confirmed; null if it does not wait for that. */
  readonly confirm_by: string | null;
  /** Why there is nothing to undo; null: there is something. Lists have no such field. */
  readonly cannot_undo?: string | null;
  readonly objects: readonly T[];
}

/** The change that waits for its confirmation. */
export interface PendingChange {
  readonly revision: number;
  readonly confirm_by: string;
}

export function pendingText({ revision, confirm_by }: PendingChange): string {
  return `revision ${revision} is reverted at ${confirm_by} unless you confirm it: postern confirm ${revision}`;
}

export async function readChange(
  transport: Transport,
  revision: number,
): Promise<{ readonly text: string; readonly change: Change<ChangedDocument> }> {
  const { text } = await transport.send({ method: 'GET', path: `/changes/${revision}` });
  return { text, change: JSON.parse(text) as Change<ChangedDocument> };
}

export function authorText({ id, name }: Author): string {
  return [name, id].find((text) => text !== '') ?? 'server';
}

/** By its name where it has one. */
export function namedText({ kind, module, id, name }: ChangedObject): string {
  const called = `${kind} ${name === '' ? id : name}`;
  return module === undefined ? called : `${module} of ${called}`;
}

/** With its id, which other commands take too. */
function objectText(object: ChangedObject): string {
  return object.name ? `${namedText(object)} (${object.id})` : namedText(object);
}

/** The one argument of a command about one change. */
export function revisionArgument(positionals: readonly string[], command: string): number {
  const [revision = '', ...others] = positionals;
  if (others.length === 0 && /^[1-9]\d{0,14}$/.test(revision)) return Number(revision);
  throw usage(`${command} takes one revision, such as ${command} 42: postern changes lists the revisions`);
}

/** Which way a document goes: as the change did it, or back. */
type Direction = 'change' | 'undo';

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
