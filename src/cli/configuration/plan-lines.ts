import type { FieldChange, ObjectChange } from '../../configuration-file/plan/object-change.ts';
import type { JsonValue } from '../../lib/json.ts';
import { printable } from '../api/cell-text.ts';
import type { Color, Painter } from '../output/color.ts';

const MARKS = { add: '+', change: '~', replace: '±', remove: '-' } as const;
const COLORS: Readonly<Record<ObjectChange['action'], Color>> = {
  add: 'green',
  change: 'yellow',
  replace: 'yellow',
  remove: 'red',
};
const SECRETS = {
  set: 'set (secret)',
  changed: 'another value (secret)',
  removed: 'removed (secret)',
  unknown: 'unknown: this key may not compare secrets; apply sends the value',
} as const;
const MAX_VALUE = 200;

/** The tree of changes: objects, their fields, the objects inside them. */
export function* planLines(changes: readonly ObjectChange[], paint: Painter, indent = ''): Iterable<string> {
  for (const { action, kind, name, fields, children } of changes) {
    const replaced = action === 'replace' ? ' (replaced: it cannot be changed)' : '';
    yield paint(`${indent}${MARKS[action]} ${kind.label} ${printable(name)}${replaced}`, COLORS[action]);
    for (const field of fields) yield `${indent}    ${fieldLine(field, action)}`;
    yield* planLines(children, paint, `${indent}  `);
  }
}

function fieldLine({ path, before, after, secret }: FieldChange, action: ObjectChange['action']): string {
  const name = printable(path);
  if (secret !== undefined) return `${name}: ${SECRETS[secret]}`;
  if (action !== 'change') return `${name}: ${valueText(after)}`;
  if (isModule(before) && after === undefined) return `- ${name}`;
  if (before === undefined) return isModule(after) ? `+ ${name}` : `${name}: ${valueText(after)}`;
  return `${name}: ${valueText(before)} -> ${valueText(after)}`;
}

function isModule(value: JsonValue | undefined): boolean {
  return JSON.stringify(value) === '{}';
}

function valueText(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return 'unset';
  const text = printable(JSON.stringify(value));
  return text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)}… (${text.length} characters)` : text;
}

/** `2 added, 1 changed`. */
export function summaryText(changes: readonly ObjectChange[]): string {
  const counts = new Map<ObjectChange['action'], number>();
  const count = (change: ObjectChange): void => {
    const isOnlyAround = change.action === 'change' && change.fields.length === 0;
    if (!isOnlyAround) counts.set(change.action, (counts.get(change.action) ?? 0) + 1);
    if (change.action !== 'remove') for (const child of change.children) count(child);
  };
  for (const change of changes) count(change);
  const names = { add: 'added', change: 'changed', replace: 'replaced', remove: 'removed' } as const;
  return Object.entries(names)
    .flatMap(([action, text]) =>
      counts.has(action as keyof typeof names) ? [`${counts.get(action as keyof typeof names)} ${text}`] : [],
    )
    .join(', ');
}

/** For `-o json`. */
export function changesAsJson(changes: readonly ObjectChange[]): readonly JsonValue[] {
  return changes.map(({ action, kind, name, fields, children }) => ({
    action,
    kind: kind.resource.kind,
    name,
    fields: fields as unknown as JsonValue,
    children: changesAsJson(children),
  }));
}
