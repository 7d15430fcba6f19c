import type { ErrorCode, ErrorRow, ErrorRows } from '../../../kit/errors.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../kit/json.ts';
import { schemaSetBy, withDescriptionsOf } from '../../../kit/schema/body-fields.ts';
import {
  type Method,
  type OpenApiDocument,
  type OperationObject,
  operationsAt,
  type ParameterObject,
  type Reference,
} from '../openapi/document.ts';
import { type Html, html, prose } from './html.ts';

interface Field {
  readonly name: string;
  readonly schema: JsonObject;
  readonly description: string;
  readonly isRequired: boolean;
}

/** `body`: marks required fields. `response`: marks fields that may be absent. */
type FieldUse = 'body' | 'response';

/** The fields of an object, with those of nested objects collapsed. */
export function fieldList(schema: JsonObject, use: FieldUse, reader: DocumentReader): Html {
  const required = (schema['required'] ?? []) as readonly string[];
  const properties = Object.entries((schema['properties'] ?? {}) as Readonly<Record<string, JsonObject>>);
  if (properties.length === 0) return html`<p class="none">No fields.</p>`;
  return rows(
    properties.map(([name, field]) => {
      const schema = reader.field(field);
      const description = (schema['description'] as string | undefined) ?? '';
      return { name, schema, description, isRequired: required.includes(name) };
    }),
    use,
    reader,
  );
}

export function parameterList(parameters: readonly ParameterObject[], reader: DocumentReader): Html {
  return rows(
    parameters.map(({ name, in: place, schema, description, required }) => ({
      name,
      // The prefix already shows the form of an id; the pattern would only repeat it.
      schema: place === 'path' ? { type: schema['type'] ?? 'string' } : schema,
      description,
      isRequired: required === true,
    })),
    'body',
    reader,
  );
}

function rows(fields: readonly Field[], use: FieldUse, reader: DocumentReader): Html {
  return html`<dl class="fields">${fields.map((field) => row(field, use, reader))}</dl>`;
}

function row({ name, schema, description, isRequired }: Field, use: FieldUse, reader: DocumentReader): Html {
  const inner = nestedObject(schema);
  const constraints = constraintTexts(schema);
  const presence = use === 'body' ? isRequired && 'required' : !isRequired && 'may be absent';
  return html`<div><dt><code>${name}</code> <span class="type">${typeText(schema)}</span>${
    presence !== false && html` <strong class="presence">${presence}</strong>`
  }</dt><dd>${prose(description)}${
    constraints.length > 0 && html` <span class="constraints">${constraints.join(' · ')}</span>`
  }${inner !== null && html`<details><summary>Fields of <code>${name}</code></summary>${fieldList(inner, use, reader)}</details>`}</dd></div>`;
}

/** An unnamed object, optional, in a list or in a map. */
function nestedObject(schema: JsonObject): JsonObject | null {
  if (componentName(schema) !== null) return null;
  if (schema['properties'] !== undefined) return schema;
  const options = (schema['anyOf'] ?? []) as readonly JsonObject[];
  const inside = [...options, schema['items'], schema['additionalProperties']].filter(isJsonObject);
  return inside.map(nestedObject).find((found) => found !== null) ?? null;
}

/** A short name of a value's type; named objects link to their description. */
export function typeText(schema: JsonObject): Html {
  const name = componentName(schema);
  if (name !== null) return html`<a href="#schema-${name}">${name}</a>`;
  const options = schema['anyOf'] as readonly JsonObject[] | undefined;
  if (options !== undefined) return html`${options.map((option, index) => [index > 0 && ' or ', typeText(option)])}`;
  const items = schema['items'];
  if (isJsonObject(items)) return html`list of ${typeText(items)}`;
  const values = schema['additionalProperties'];
  if (isJsonObject(values)) return html`map of ${typeText(values)}`;
  const type = schema['type'] ?? 'any';
  return html`${schema['format'] === 'date-time' ? 'time' : Array.isArray(type) ? type.join(' or ') : (type as string)}`;
}

/** Facts that the type does not express: allowed values, bounds, the default. */
function constraintTexts(schema: JsonObject): readonly string[] {
  const words: string[] = [];
  const say = (keyword: string, text: (value: JsonValue) => string): void => {
    const value = schema[keyword];
    if (value !== undefined) words.push(text(value));
  };
  say('enum', (values) => `one of ${(values as readonly JsonValue[]).map(shown).join(', ')}`);
  say('const', (value) => `always ${shown(value)}`);
  say('minimum', (value) => `at least ${shown(value)}`);
  say('maximum', (value) => `at most ${shown(value)}`);
  say('minLength', (value) => `at least ${shown(value)} ${plural('character', value)}`);
  say('maxLength', (value) => `at most ${shown(value)} ${plural('character', value)}`);
  say('minItems', (value) => `at least ${shown(value)} ${plural('item', value)}`);
  say('maxItems', (value) => `at most ${shown(value)} ${plural('item', value)}`);
  say('minProperties', (value) => `at least ${shown(value)} ${plural('entry', value)}`);
  say('maxProperties', (value) => `at most ${shown(value)} ${plural('entry', value)}`);
  say('pattern', (value) => `matches ${value as string}`);
  say('default', (value) => `default ${shown(value)}`);
  return words;
}

export function componentName(schema: JsonObject): string | null {
  const ref = schema['$ref'];
  return typeof ref === 'string' ? (ref.split('/').at(-1) ?? null) : null;
}

function shown(value: JsonValue): string {
  return JSON.stringify(value);
}

function plural(noun: string, count: JsonValue): string {
  if (count === 1) return noun;
  return noun.endsWith('y') ? `${noun.slice(0, -1)}ies` : `${noun}s`;
}

export interface PathOperation {
  readonly method: Method;
  readonly path: string;
  readonly operation: OperationObject;
}

/** Looks up parts of a document, and what its error codes mean. */
export class DocumentReader {
  readonly document: OpenApiDocument;
  readonly #errorRows: ErrorRows;

  constructor(document: OpenApiDocument, errorRows: ErrorRows) {
    this.document = document;
    this.#errorRows = errorRows;
  }

  get serverUrl(): string {
    return this.document.servers[0]?.url ?? '';
  }

  operationsOf(tag: string): readonly PathOperation[] {
    return Object.entries(this.document.paths).flatMap(([path, item]) =>
      operationsAt(item)
        .filter(([, operation]) => operation.tags.includes(tag))
        .map(([method, operation]) => ({ method, path, operation })),
    );
  }

  error(code: ErrorCode): ErrorRow {
    return this.#errorRows[code] as ErrorRow;
  }

  /** Fields that many objects have are named: their own text and limits belong to the field. */
  field(schema: JsonObject): JsonObject {
    const { $ref, ...own } = schema;
    const named = $ref === undefined ? undefined : this.resolve<JsonObject>(schema as { readonly $ref: string });
    return named === undefined || named['properties'] !== undefined ? schema : this.field({ ...named, ...own });
  }

  /** The fields of a named schema; those of a body have the descriptions of its resource. */
  fieldsOf(name: string): JsonObject {
    const { schemas } = this.document.components;
    const schema = schemas[name] as JsonObject;
    const resource = schemaSetBy(name, schemas);
    return resource === undefined ? schema : withDescriptionsOf(schema, resource, (field) => this.field(field));
  }

  /** The target of a reference, or the object itself. */
  resolve<Thing extends object>(thing: Thing | Reference): Thing {
    if (!('$ref' in thing)) return thing;
    const steps = thing.$ref.replace(/^#\//, '').split('/');
    // Our own document: a test checks that every reference in it resolves.
    return steps.reduce((at, step) => (at as Record<string, object>)[step] as object, this.document as object) as Thing;
  }
}
