import type { TObject, TSchema } from 'typebox';
import { type JsonObject, type JsonValue, pathOf, withValue } from '../../kit/json.ts';
import { type ReferenceAnnotation, referenceAnnotation } from '../../kit/schema/annotations.ts';
import { type BodyDecoder, createDecoder } from '../../kit/schema/decode-body.ts';
import { type FieldProblem, pointerTo } from '../../kit/schema/field-problem.ts';
import { isObjectSchema, isOpenSchema, secretVisibility } from '../../kit/schema/schema-facts.ts';
import { defaultOf, hasDefault } from '../../kit/schema/wire-forms.ts';
import { parseSecretReference, SECRET_FORMS, type SecretReference } from '../../kit/secret-reference.ts';
import { didYouMean } from '../../kit/text/near-match.ts';
import { plainValue, type YamlMap, type YamlNode } from '../../kit/text/yaml/plain-yaml.ts';
import { fileFieldName } from './file-form.ts';
import { quoted } from './format.ts';

/** A secret of the file: where its value is, or empty to remove it. A map of secrets has one for each name. */
export type FileSecret = PlacedSecret | '' | ReadonlyMap<string, PlacedSecret | ''>;

export interface PlacedSecret extends SecretReference {
  readonly line: number;
}

/** The references of a secret: one, none, or those of a map. */
export function* placedSecrets(secret: FileSecret): Iterable<PlacedSecret> {
  const parts = secret instanceof Map ? (secret as ReadonlyMap<string, PlacedSecret | ''>).values() : [secret];
  for (const part of parts as Iterable<PlacedSecret | ''>) if (part !== '') yield part;
}

export interface BodyPorts {
  /** The id that stands for the object with this name; null after a problem was recorded. */
  idOf(name: string, annotation: ReferenceAnnotation, line: number): string | null;
  problem(line: number, path: readonly string[], message: string): void;
}

export interface WireBody {
  /** As the API accepts it, without secrets. */
  readonly body: JsonObject;
  /** By JSON pointer. */
  readonly secrets: ReadonlyMap<string, FileSecret>;
  /** Lines of fields by JSON pointer. */
  readonly lines: ReadonlyMap<string, number>;
}

/** Turns a map of the file into the body of a write. `beside` names fields that other code reads. */
export function wireBody(schema: TObject, map: YamlMap, ports: BodyPorts, beside: readonly string[] = []): WireBody {
  const reader = new BodyReader(ports);
  const body = reader.object(schema, map, '', [], beside);
  return { body, secrets: reader.secrets, lines: reader.lines };
}

class BodyReader {
  readonly secrets = new Map<string, FileSecret>();
  readonly lines = new Map<string, number>();
  readonly #ports: BodyPorts;

  constructor(ports: BodyPorts) {
    this.#ports = ports;
  }

  object(schema: TObject, map: YamlMap, at: string, path: readonly string[], beside: readonly string[]): JsonObject {
    const fields = new Map(
      Object.entries(schema.properties).map(([name, field]) => [fileFieldName(name, field), { name, field }]),
    );
    const result: [string, JsonValue][] = [];
    for (const [shownName, { line, node }] of map.entries) {
      if (beside.includes(shownName)) continue;
      const inner = [...path, shownName];
      // Names of an open object are those of headers: a secret one is recognized in any case.
      const found = fields.get(isOpenSchema(schema) ? shownName.toLowerCase() : shownName);
      if (found === undefined && isOpenSchema(schema)) {
        result.push([shownName, plainValue(node)]);
        continue;
      }
      if (found === undefined) {
        const known = [...fields.keys(), ...beside];
        const advice = `${didYouMean(shownName, known)} Known fields: ${known.join(', ')}`;
        this.#ports.problem(line, [...path, shownName.slice(0, 80)], `is not a known field.${advice}`);
        continue;
      }
      const pointer = pointerTo(at, found.name);
      this.lines.set(pointer, line);
      const value = this.#field(found.field, node, pointer, inner);
      if (value !== undefined) result.push([found.name, value]);
    }
    return Object.fromEntries(result);
  }

  #field(field: TSchema, node: YamlNode, pointer: string, path: readonly string[]): JsonValue | undefined {
    if (node.type === 'scalar' && node.value === null) {
      if (hasDefault(field) && defaultOf(field) === null) return undefined;
      this.#ports.problem(node.line, path, 'is empty: write a value, or remove the line');
      return undefined;
    }
    if (secretVisibility(field) !== undefined) return this.#secret(field, node, pointer, path);
    const annotation = referenceAnnotation(field);
    if (annotation !== undefined) return this.#references(annotation, node, path);
    if (isObjectSchema(field) && node.type === 'map') return this.object(field, node, pointer, path, []);
    const { items } = field as { readonly items?: TSchema };
    if (items !== undefined && isObjectSchema(items) && node.type === 'list') {
      return node.items.map((item, index): JsonValue => {
        const inner = pointerTo(pointer, String(index));
        this.lines.set(inner, item.line);
        return item.type === 'map' ? this.object(items, item, inner, [...path, String(index)], []) : plainValue(item);
      });
    }
    return plainValue(node);
  }

  #secret(field: TSchema, node: YamlNode, pointer: string, path: readonly string[]): undefined {
    const isMapOfSecrets = 'patternProperties' in field;
    if (isMapOfSecrets && node.type === 'map') {
      const values = [...node.entries].flatMap(([name, entry]) => {
        const value = this.#placedSecret(entry.node, [...path, name]);
        return value === null ? [] : [[name, value] as const];
      });
      this.secrets.set(pointer, new Map(values));
    } else {
      const value = isMapOfSecrets ? this.#notASecret(node, path) : this.#placedSecret(node, path);
      if (value !== null) this.secrets.set(pointer, value);
    }
    return undefined;
  }

  #placedSecret(node: YamlNode, path: readonly string[]): PlacedSecret | '' | null {
    if (node.type !== 'scalar' || typeof node.value !== 'string') return this.#notASecret(node, path);
    if (node.value === '') return '';
    const reference = parseSecretReference(node.value);
    return reference === null ? this.#notASecret(node, path) : { ...reference, line: node.line };
  }

  /** The message does not repeat the value, which may be the secret. */
  #notASecret(node: YamlNode, path: readonly string[]): null {
    this.#ports.problem(
      node.line,
      path,
      `is a secret, and the file must not contain it: write ${SECRET_FORMS} as the whole value, or "" for none`,
    );
    return null;
  }

  #references(annotation: ReferenceAnnotation, node: YamlNode, path: readonly string[]): JsonValue | undefined {
    if (annotation.inKeys === true && node.type === 'map') {
      const entries = [...node.entries].flatMap(([name, entry]) => {
        const id = this.#ports.idOf(name, annotation, entry.line);
        return id === null ? [] : [[id, plainValue(entry.node)] as const];
      });
      return Object.fromEntries(entries);
    }
    if (node.type === 'list' && annotation.inKeys !== true) {
      return node.items.flatMap((item) => this.#reference(annotation, item, path) ?? []);
    }
    return annotation.inKeys === true ? plainValue(node) : this.#reference(annotation, node, path);
  }

  #reference(annotation: ReferenceAnnotation, node: YamlNode, path: readonly string[]): string | undefined {
    if (node.type === 'scalar' && node.value === '') return '';
    if (node.type === 'scalar' && typeof node.value === 'string') {
      return this.#ports.idOf(node.value, annotation, node.line) ?? undefined;
    }
    const shown = node.type === 'scalar' ? quoted(String(node.value)) : `a ${node.type}`;
    this.#ports.problem(
      node.line,
      path,
      `must be a name, and is ${shown}: put names in quotes if they look like numbers`,
    );
    return undefined;
  }
}

export interface ConfigCheck {
  readonly schema: TObject;
  readonly body: WireBody;
  readonly normalize?: (config: JsonObject) => JsonObject;
  /** Rules beyond the schema; secrets have a placeholder. */
  readonly check: (config: JsonObject) => readonly FieldProblem[];
  /** The form of what has passed the check. */
  readonly finish?: (config: JsonObject) => JsonObject;
}

interface CheckedConfig {
  /** Every field but secrets, with defaults; null after problems. */
  readonly config: JsonObject | null;
  readonly problems: readonly FieldProblem[];
}

const PLACEHOLDER = 'placeholder';
const decoders = new WeakMap<TObject, BodyDecoder>();

/** Decodes a body by its schema, as the server does. Values of secrets are not known here, and not judged. */
export function checkConfig({ schema, body, normalize, check, finish }: ConfigCheck): CheckedConfig {
  const given = [...body.secrets.keys()];
  const isAboutSecret = ({ path }: FieldProblem): boolean =>
    given.some((pointer) => path === pointer || path.startsWith(`${pointer}/`));
  const decoded = decoderOf(schema).decode(body.body);
  const problems = decoded.ok ? [] : decoded.problems.filter((problem) => !isAboutSecret(problem));
  if (!decoded.ok) return { config: null, problems: problems.length > 0 ? problems : decoded.problems };
  const config = normalize?.(decoded.value) ?? decoded.value;
  const whole = [...body.secrets].reduce(
    (result, [pointer, secret]) => withValue(result, pathOf(pointer), placeholderOf(secret)),
    config,
  );
  const found = check(whole).filter((problem) => !isAboutSecret(problem));
  return { config: found.length === 0 ? (finish?.(config) ?? config) : config, problems: found };
}

/** The path of a problem with the names of the file. */
export function shownPath(schema: TObject, path: string): readonly string[] {
  let at: TSchema | undefined = schema;
  return path
    .split('/')
    .slice(1)
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((name) => {
      const field: TSchema | undefined =
        at !== undefined && isObjectSchema(at) && Object.hasOwn(at.properties, name) ? at.properties[name] : undefined;
      const shown = field === undefined ? name : fileFieldName(name, field);
      at = field ?? (at as { readonly items?: TSchema } | undefined)?.items;
      return shown;
    });
}

function decoderOf(schema: TObject): BodyDecoder {
  const known = decoders.get(schema);
  if (known !== undefined) return known;
  const decoder = createDecoder(schema);
  decoders.set(schema, decoder);
  return decoder;
}

function placeholderOf(secret: FileSecret): JsonValue {
  if (secret === '') return '';
  return secret instanceof Map
    ? Object.fromEntries([...secret.keys()].map((name: string) => [name, PLACEHOLDER]))
    : PLACEHOLDER;
}
