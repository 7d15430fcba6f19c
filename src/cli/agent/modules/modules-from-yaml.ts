import type { CommandField, CommandForm } from '../../../modules/command-form.ts';
import type { YamlFields } from '../config/yaml-fields.ts';
import { configOf, type FieldValue, type ModuleConfig, type ModuleConfigs, ruleOf } from './module-config.ts';
import { moduleForms } from './module-forms.ts';

/** Keys of a tunnel that belong to modules. */
export function moduleKeys(): readonly string[] {
  return moduleForms().flatMap(({ key, bare }) => [key, ...(bare === undefined ? [] : [bare.key])]);
}

export function modulesFromYaml(tunnel: YamlFields): ModuleConfigs {
  const modules: Record<string, ModuleConfig> = {};
  for (const form of moduleForms()) {
    const config = moduleFromYaml(form, tunnel);
    if (config !== null) modules[form.module] = config;
  }
  return modules;
}

function moduleFromYaml(form: CommandForm, tunnel: YamlFields): ModuleConfig | null {
  const { key, shape, fields, whenEmpty, bare } = form;
  if (bare !== undefined && tunnel.boolean(bare.key) === true) {
    if (tunnel.has(key)) tunnel.problem(bare.key, `${bare.key} and ${key} exclude each other: remove one of them`);
    return {};
  }
  if (shape === 'switch') return tunnel.boolean(key) === true ? {} : null;
  if (shape === 'list') return configOf(form, readFields(fields, tunnel, key));
  const map = tunnel.map(
    key,
    fields.map((field) => field.key),
  );
  if (map === null) return null;
  for (const field of fields) {
    if (field.isNeeded !== true || map.has(field.key)) continue;
    map.problem(null, `${key}.${field.key} is missing: write ${field.key}: ${field.example}`);
  }
  const values = readFields(fields, map);
  if (whenEmpty !== undefined && !fields.some((field) => map.has(field.key))) return map.problem(null, whenEmpty);
  // Present although nothing in it could be parsed: the problems have been recorded.
  return configOf(form, values) ?? {};
}

/** `key` replaces the field's own key, for a form of one field. */
function readFields(
  fields: readonly CommandField[],
  map: YamlFields,
  key?: string,
): ReadonlyMap<string, FieldValue | null> {
  return new Map(fields.map((field) => [field.name, readField(field, map, key ?? field.key)]));
}

function readField(field: CommandField, map: YamlFields, key: string): FieldValue | null {
  const { kind, minimum = 0, maximum = Number.MAX_SAFE_INTEGER, maxItems = Number.POSITIVE_INFINITY } = field;
  if (kind === 'boolean') return map.boolean(key);
  if (field.unit !== undefined) return map.duration(key, { unit: field.unit, minimum, maximum });
  if (kind === 'integer') return map.integer(key, minimum, maximum);
  if (kind === 'number') return map.number(key, minimum, maximum);
  if (kind === 'text') return map.text(key, ruleOf(field)) ?? (field.isNeeded === true ? '' : null);
  const items = map.textList(key, field.example, ruleOf(field));
  if (items !== null && items.length > maxItems) return map.problem(key, `${key} can have at most ${maxItems} items`);
  return items;
}
