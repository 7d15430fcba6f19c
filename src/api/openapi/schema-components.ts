import type { TSchema } from 'typebox';
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';
import { wireSchema } from './wire-schema.ts';

/**
 * Named schemas of the document. Reusable ones are recognized by their shape inside other schemas and replaced by a
 * reference: the definitions themselves need no names.
 */
export class SchemaComponents {
  readonly #named = new Map<string, JsonObject>();
  readonly #nameByShape = new Map<string, string>();

  add(name: string, schema: TSchema, options: { readonly isReusable: boolean }): void {
    const wire = wireSchema(schema);
    if (this.#named.has(name)) throw new Error(`two schemas of the document are called ${name}`);
    this.#named.set(name, wire);
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
      else if (keyword === 'anyOf')
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

/** The schema's own description and field-level annotations do not make it a different schema. */
function shapeOf(schema: JsonObject): string {
  const { description: _, 'x-reference': __, default: ___, ...shape } = schema;
  return canonicalJson(shape);
}
