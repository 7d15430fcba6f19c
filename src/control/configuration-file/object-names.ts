import { edgeRecordKindOf } from '../../edges/edge-kind.ts';
import { routeRecordKinds, type StoredEdgeKind, storedEdgeKinds } from '../../edges/record-kinds.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../kit/json.ts';
import type { ObjectKind } from './sections.ts';

/** How the key of an object in the file follows from a field, and what the key says if the field is left out. */
interface KeyRule {
  readonly field: string;
  nameOf(value: JsonValue | undefined): string;
  valueFor(key: string): JsonValue;
  /** Other fields that the file may leave out, although the API requires them. */
  readonly others?: JsonObject;
}

const text = (value: JsonValue | undefined): string => (typeof value === 'string' ? value : '');
const textRule = (field: string): KeyRule => ({ field, nameOf: text, valueFor: (key) => key });

function hostportRule({ api: { hostports } }: StoredEdgeKind): KeyRule {
  return {
    field: 'hostports',
    nameOf: (value) => (Array.isArray(value) ? hostports.shortForm(text(value[0])) : ''),
    valueFor: (key) => [hostports.longForm(key)],
  };
}

/** Everything else is named by its description. */
const KEY_RULES: ReadonlyMap<string, KeyRule> = new Map([
  ...storedEdgeKinds.map((kind) => [edgeRecordKindOf(kind), hostportRule(kind)] as const),
  ...routeRecordKinds.map((kind) => [kind, { ...textRule('match'), others: { match_type: 'path_prefix' } }] as const),
  ['reserved_domain', textRule('domain')],
  ['service_account', textRule('name')],
  ['ip_policy_rule', textRule('cidr')],
]);

/** What names an object that has no description. */
interface NamelessRule {
  readonly field: string;
  nameOf(value: JsonValue | undefined): string;
}

/** A longer text is no name that people read. */
const MAX_NAMELESS = 100;
/** The first one that gives a name applies. */
const NAMELESS_RULES: readonly NamelessRule[] = [
  { field: 'address', nameOf: text },
  { field: 'labels', nameOf: labelsText },
  { field: 'url', nameOf: text },
  { field: 'file', nameOf: text },
  { field: 'countries', nameOf: codesText },
];

export function keyFieldOf({ resource }: ObjectKind): string {
  return KEY_RULES.get(resource.kind)?.field ?? 'description';
}

/** The field that the name of this object comes from. */
export function namingField(kind: ObjectKind, config: JsonObject): string {
  const field = keyFieldOf(kind);
  const isNamed = field !== 'description' || text(config[field]) !== '';
  return isNamed ? field : (namelessRule(kind, config)?.field ?? field);
}

/** The name that an object has if no other one has the same. */
export function baseName(kind: ObjectKind, config: JsonObject): string {
  const rule = KEY_RULES.get(kind.resource.kind);
  const own = rule?.nameOf(config[rule.field]) ?? '';
  return own || text(config['description']) || namelessName(kind, config);
}

/** The fields that a key stands for, if the file leaves them out. `config` has the others. */
export function impliedBy(kind: ObjectKind, key: string, config: JsonObject): JsonObject {
  const isNameless = isNumbered(key, namelessName(kind, config));
  const rule = KEY_RULES.get(kind.resource.kind);
  if (rule === undefined) return { description: isNameless ? '' : key };
  const named = rule.field === 'hostports' && isNameless ? {} : { [rule.field]: rule.valueFor(key) };
  return { ...named, ...rule.others };
}

/** Whether the key is the name, or the name with the number of one of several. */
export function isNumbered(key: string, name: string): boolean {
  return key === name || (key.startsWith(`${name} `) && /^[1-9]\d*$/.test(key.slice(name.length + 1)));
}

/** The name of an object without a description. */
function namelessName(kind: ObjectKind, config: JsonObject): string {
  const rule = namelessRule(kind, config);
  const name = rule?.nameOf(config[rule.field]) ?? '';
  return name === '' || name.length > MAX_NAMELESS ? kind.label : name;
}

function namelessRule({ resource }: ObjectKind, config: JsonObject): NamelessRule | undefined {
  const rules = NAMELESS_RULES.filter(({ field }) => Object.hasOwn(resource.config.properties, field));
  return rules.find((rule) => rule.nameOf(config[rule.field]) !== '') ?? rules[0];
}

/** Sorted, because the order of labels means nothing. */
function labelsText(value: JsonValue | undefined): string {
  if (!isJsonObject(value)) return '';
  const pairs = Object.entries(value).map(([name, each]) => `${name}=${text(each)}`);
  return pairs.sort().join(',');
}

/** As the API stores them. */
function codesText(value: JsonValue | undefined): string {
  if (!Array.isArray(value)) return '';
  return [...new Set(value.map((code) => text(code).toUpperCase()))].sort().join(',');
}

export interface NamedObject<Of> {
  readonly kind: ObjectKind;
  readonly id: string;
  readonly config: JsonObject;
  readonly of: Of;
}

/**
 * Names objects that share a section: duplicates are numbered in the order of their ids. A number that is the whole
 * name of another object is left out.
 */
export function nameObjects<Of>(objects: readonly NamedObject<Of>[]): ReadonlyMap<string, NamedObject<Of>> {
  const sorted = [...objects].sort((a, b) => compareIds(a.id, b.id));
  const based = sorted.map((object) => ({ object, base: baseName(object.kind, object.config) }));
  const bases = new Set(based.map(({ base }) => base));
  const names = new Map<string, NamedObject<Of>>();
  const last = new Map<string, number>();
  for (const { object, base } of based) {
    let number = last.get(base) ?? 0;
    let name = base;
    do {
      number += 1;
      name = number === 1 ? base : `${base} ${number}`;
    } while (number > 1 && bases.has(name));
    last.set(base, number);
    names.set(name, object);
  }
  return names;
}

/** By time of creation: the prefix of an id names its kind. */
function compareIds(a: string, b: string): number {
  const [ageOfA, ageOfB] = [a, b].map((id) => id.slice(id.indexOf('_') + 1)) as [string, string];
  return ageOfA === ageOfB ? (a < b ? -1 : 1) : ageOfA < ageOfB ? -1 : 1;
}
