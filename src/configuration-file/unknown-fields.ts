import { isJsonObject, type JsonObject, type JsonValue } from '../lib/json.ts';
import { fileFieldName } from './file-form.ts';
import type { ObjectKind } from './sections.ts';

interface UnknownField {
  readonly path: readonly string[];
  readonly why: string;
}

const WHY = 'Postern has no such field';
/** Read-only fields of every document. */
const COMMON = ['id', 'uri', 'created_at'];

/** Fields of a document that no schema has, as documents of another service may have. Empty ones say nothing. */
export function unknownFields(kind: ObjectKind, document: JsonObject): readonly UnknownField[] {
  const { resource, modules, children } = kind;
  const own = new Set([
    ...COMMON,
    ...knownIn(resource.config.properties),
    ...Object.keys({ ...resource.derived, ...resource.live?.schema, ...resource.shownOnce, ...resource.rendered }),
    ...(resource.parent !== undefined && 'param' in resource.parent ? [resource.parent.param] : []),
    ...(resource.otherNames?.ignoredIfEmpty ?? []),
    ...modules.map(({ name }) => name),
    ...children.keys(),
  ]);
  const inModules = modules.flatMap(({ name, config, constants, live }) => {
    const value = document[name];
    if (!isJsonObject(value)) return [];
    const known = new Set([...knownIn(config.properties), ...Object.keys({ ...constants?.values, ...live?.schema })]);
    return fieldsBeside(known, value).map((field) => ({ path: [name, field], why: WHY }));
  });
  return [...fieldsBeside(own, document).map((field) => ({ path: [field], why: WHY })), ...inModules];
}

function knownIn(properties: ObjectKind['resource']['config']['properties']): readonly string[] {
  return Object.entries(properties).flatMap(([name, field]) => [name, fileFieldName(name, field)]);
}

function fieldsBeside(known: ReadonlySet<string>, document: JsonObject): readonly string[] {
  return Object.entries(document).flatMap(([name, value]) => (known.has(name) || isEmpty(value) ? [] : [name]));
}

function isEmpty(value: JsonValue): boolean {
  if (Array.isArray(value)) return value.length === 0;
  return value === null || value === '' || value === false || (isJsonObject(value) && Object.keys(value).length === 0);
}
