import type { TSchema } from 'typebox';

/** The part of JSON Schema that the API's schemas use. */
interface Shape {
  readonly type: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly TSchema[];
  readonly items?: TSchema;
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly required?: readonly string[];
  readonly patternProperties?: Readonly<Record<string, TSchema>>;
  readonly additionalProperties?: TSchema | boolean;
  readonly description?: string;
}

const MAX_COMMENT_WIDTH = 110;

/** Named types, by their shape: equal shapes have the same name everywhere. */
export class NamedTypes {
  readonly #names = new Map<string, string>();

  add(schema: TSchema, name: string): void {
    const key = shapeKey(schema);
    if (!this.#names.has(key)) this.#names.set(key, name);
  }

  find(schema: TSchema): string | undefined {
    return this.#names.get(shapeKey(schema));
  }
}

/** TypeScript for a schema; referenced names are added to `used`. */
export function typeText(schema: TSchema, named: NamedTypes, used: Set<string>): string {
  const name = named.find(schema);
  if (name === undefined) return anonymousType(schema, named, used);
  used.add(name);
  return name;
}

function anonymousType(schema: TSchema, named: NamedTypes, used: Set<string>): string {
  const shape = schema as Shape;
  // Any JSON value.
  if (Object.keys(shape).length === 0) return 'unknown';
  if (shape.enum !== undefined) return shape.enum.map((value) => JSON.stringify(value)).join(' | ');
  if (shape.const !== undefined) return JSON.stringify(shape.const);
  if (shape.anyOf !== undefined) return shape.anyOf.map((each) => typeText(each, named, used)).join(' | ');
  switch (shape.type) {
    case 'string':
    case 'boolean':
    case 'null':
      return shape.type;
    case 'integer':
    case 'number':
      return 'number';
    case 'array':
      return `readonly (${typeText(shape.items as TSchema, named, used)})[]`;
    case 'object':
      return objectType(shape, named, used);
    default:
      throw new Error(`no TypeScript for ${JSON.stringify(schema)}`);
  }
}

function objectType(shape: Shape, named: NamedTypes, used: Set<string>): string {
  const [values] = Object.values(shape.patternProperties ?? {});
  if (values !== undefined) return `Readonly<Record<string, ${typeText(values, named, used)}>>`;
  const properties = Object.entries(shape.properties ?? {});
  if (properties.length === 0) return 'Readonly<Record<string, unknown>>';
  const { additionalProperties: others } = shape;
  const body = objectBody(properties, shape.required ?? [], named, used);
  if (typeof others !== 'object') return body;
  return `${body.slice(0, -1)}readonly [name: string]: ${typeText(others, named, used)} | undefined;\n}`;
}

/** `{ … }` with a comment above each field. */
export function objectBody(
  properties: readonly (readonly [string, TSchema])[],
  required: readonly string[],
  named: NamedTypes,
  used: Set<string>,
): string {
  const fields = properties.map(([name, field]) => {
    const isRequired = required.includes(name);
    // Absent and undefined are the same in JSON, so callers need not distinguish them.
    const type = `${typeText(field, named, used)}${isRequired ? '' : ' | undefined'}`;
    return `${comment((field as Shape).description)}readonly ${name}${isRequired ? '' : '?'}: ${type};`;
  });
  return `{\n${fields.join('\n')}\n}`;
}

export function interfaceText(name: string, schema: TSchema, named: NamedTypes, used: Set<string>): string {
  const shape = schema as Shape;
  return `${comment(shape.description)}export interface ${name} ${objectBody(Object.entries(shape.properties ?? {}), shape.required ?? [], named, used)}`;
}

export function comment(text: string | undefined): string {
  if (text === undefined || text === '') return '';
  const lines = wrap(text.replaceAll('*/', '* /'));
  if (lines.length === 1) return `/** ${lines[0]} */\n`;
  return `/**\n${lines.map((line) => ` * ${line}`).join('\n')}\n */\n`;
}

function wrap(text: string): string[] {
  const lines = [''];
  for (const word of text.split(/\s+/)) {
    const line = lines.at(-1) ?? '';
    if (line === '') lines[lines.length - 1] = word;
    else if (line.length + word.length < MAX_COMMENT_WIDTH) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** Everything that determines the type, and nothing else. */
function shapeKey(schema: TSchema): string {
  const strip = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(strip);
    if (typeof value !== 'object' || value === null) return value;
    const {
      properties,
      items,
      anyOf,
      patternProperties,
      additionalProperties,
      type,
      required,
      enum: choices,
      const: constant,
    } = value as Shape;
    return {
      type,
      required,
      choices,
      constant,
      items: items && strip(items),
      anyOf: anyOf?.map(strip),
      properties: properties && mapped(properties),
      patternProperties: patternProperties && mapped(patternProperties),
      others: typeof additionalProperties === 'object' ? strip(additionalProperties) : undefined,
    };
  };
  const mapped = (fields: Readonly<Record<string, TSchema>>): unknown =>
    Object.entries(fields).map(([name, field]) => [name, strip(field)]);
  return JSON.stringify(strip(schema));
}
