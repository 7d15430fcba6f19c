import { isDeepStrictEqual } from 'node:util';
import type { TObject } from 'typebox';
import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';
import { isObjectSchema, openValues, secretVisibility } from '../../lib/schema/schema-facts.ts';
import { defaultOf, hasDefault } from '../../lib/schema/wire-forms.ts';
import type { Module } from '../../modules/contract/module.ts';
import { shownPath } from '../check-config.ts';
import { fileFieldName } from '../file-form.ts';
import type { FileConfig, FileObject } from '../file-object.ts';
import { impliedBy } from '../object-names.ts';
import type { FieldChange } from './object-change.ts';

/** The fields of a new object that differ from their defaults. */
export function shownFields(file: FileObject): readonly FieldChange[] {
  const { resource, modules } = file.kind;
  const implied = impliedBy(file.kind, file.name, file.config);
  // The name says it.
  const own = fieldsOf(resource.config, file, []).filter(
    ({ path, after }) => !isDeepStrictEqual(after, implied[path] ?? null),
  );
  const inModules = modules.flatMap((module) => {
    const config = file.modules.get(module.name);
    return config === undefined ? [] : moduleFields(module, config);
  });
  return [...own, ...inModules];
}

/** The same for a module. */
export function moduleFields(module: Module, config: FileConfig): readonly FieldChange[] {
  const fields = fieldsOf(module.config, config, [module.name]);
  return fields.length === 0 ? [{ path: module.name, after: {} }] : fields;
}

function fieldsOf(schema: TObject, { config, secrets }: FileConfig, path: readonly string[]): readonly FieldChange[] {
  const set = [...secrets].filter(([, secret]) => secret !== '');
  return [
    ...valuesOf(schema, config, path),
    ...set.map(
      ([pointer]): FieldChange => ({ path: [...path, ...shownPath(schema, pointer)].join('.'), secret: 'set' }),
    ),
  ];
}

function valuesOf(schema: TObject, config: JsonObject, path: readonly string[]): readonly FieldChange[] {
  return Object.entries(schema.properties).flatMap(([name, field]): readonly FieldChange[] => {
    const value: JsonValue | undefined = config[name];
    if (value === undefined || value === null || secretVisibility(field) !== undefined) return [];
    const inner = [...path, fileFieldName(name, field)];
    if (isObjectSchema(field) && isJsonObject(value)) {
      const open = openValues(field, value);
      const shown = Object.keys(open).length === 0 ? [] : [{ path: inner.join('.'), after: open }];
      return [...shown, ...valuesOf(field, value, inner)];
    }
    const isImplied = hasDefault(field) && isDeepStrictEqual(value, defaultOf(field));
    return isImplied ? [] : [{ path: inner.join('.'), after: value }];
  });
}
