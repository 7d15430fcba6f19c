import type { TSchema } from 'typebox';
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';
import { wireSchema } from './wire-schema.ts';

export interface SchemaOptions {
  readonly isReusable: boolean;
  readonly description?: string;
  /** Required fields that are absent in some of the places where the schema stands. */
  readonly optional?: readonly string[];
}

/**
 * Named schemas of the document. Reusable ones are recognized by their shape inside other schemas and replaced by a
 * reference: the definitions themselves need no names.
 */
export class SchemaComponents {
  readonly #named = new Map<string, JsonObject>();
  readonly #nameByShape = new Map<string, string>();

  add(name: string, schema: TSchema, options: SchemaOptions): void {
    const wire = wireSchema(schema);
    if (this.#named.has(name)) throw new Error(`two schemas of the document are called ${name}`);
    this.#named.set(name, shown(wire, options));
    const shape = shapeOf(wire);
    if (options.isReusable && !this.#nameByShape.has(shape)) this.#nameByShape.set(shape, name);
  }

  has(name: string): boolean {
    return this.#named.has(name);
  }

  /** The name of a reusable schema of this shape. */
  nameOf(schema: TSchema): string | undefined {
    return this.#nameFor(wireSchema(schema));
  }

  /** The schema with a reference for every named part. */
  use(schema: TSchema): JsonObject {
    return this.#referred(wireSchema(schema));
  }

  /** An example of a named schema, which may need the names of others. */
  setExample(name: string, example: JsonValue): void {
    const known = this.#named.get(name);
    if (known !== undefined) this.#named.set(name, { ...known, examples: [example] });
  }

  toJson(): Readonly<Record<string, JsonObject>> {
    const sorted = [...this.#named].sort(([a], [b]) => (a < b ? -1 : 1));
    return Object.fromEntries(sorted.map(([name, schema]) => [name, this.#withParts(schema)]));
  }

  #referred(schema: JsonObject): JsonObject {
    const name = this.#nameFor(schema);
    if (name === undefined) return this.#withParts(schema);
    const { description } = schema;
    const isSaidThere = description === undefined || description === this.#named.get(name)?.['description'];
    return { $ref: `#/components/schemas/${name}`, ...(!isSaidThere && { description }) };
  }

  /** Only objects have names; skipping the rest saves most of the work. */
  #nameFor(schema: JsonObject): string | undefined {
    return schema['properties'] === undefined ? undefined : this.#nameByShape.get(shapeOf(schema));
  }

  #withParts(schema: JsonObject): JsonObject {
    const result: Record<string, JsonValue> = {};
    for (const [keyword, value] of Object.entries(schema)) {
      if (keyword === 'properties') result[keyword] = this.#eachOf(value as JsonObject);
      else if (keyword === 'anyOf' || keyword === 'allOf')
        result[keyword] = (value as readonly JsonObject[]).map((part) => this.#referred(part));
      else if ((keyword === 'items' || keyword === 'additionalProperties') && isJsonObject(value))
        result[keyword] = this.#referred(value);
      else result[keyword] = value;
    }
    return result;
  }

  #eachOf(properties: JsonObject): JsonObject {
    const referred = Object.entries(properties).map(([name, field]) => [name, this.#referred(field as JsonObject)]);
    return Object.fromEntries(referred) as JsonObject;
  }
}

function shown(wire: JsonObject, { description, optional = [] }: SchemaOptions): JsonObject {
  const required = (wire['required'] ?? []) as readonly string[];
  return {
    ...wire,
    ...(description !== undefined && { description }),
    ...(wire['required'] !== undefined && { required: required.filter((name) => !optional.includes(name)) }),
  };
}

/** The schema's own description and field-level annotations do not make it a different schema. */
function shapeOf(schema: JsonObject): string {
  const { description: _, 'x-reference': __, default: ___, examples: ____, ...shape } = schema;
  return canonicalJson(shape);
}
