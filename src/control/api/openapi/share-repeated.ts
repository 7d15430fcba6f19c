import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from '../../../kit/json.ts';
import {
  type OpenApiDocument,
  type OperationObject,
  operationsAt,
  type ParameterObject,
  type PathItem,
  type Reference,
  type ResponseObject,
} from './document.ts';

/**
 * Moves what stands in several places into the components: parameters, responses without a body, and objects inside
 * schemas. What stands in one place stays there. Without this the document is twice as large, and generators make a
 * class of every copy.
 */
export function shareRepeated(document: OpenApiDocument): OpenApiDocument {
  const { paths, webhooks, components } = document;
  const parameters = new Shared<ParameterObject>('parameters', components.parameters);
  const responses = new Shared<ResponseObject>('responses', components.responses);
  for (const operation of [...operationsOf(paths), ...operationsOf(webhooks)]) {
    for (const parameter of operation.parameters ?? []) parameters.see(parameter, nameOfParameter);
    for (const [status, response] of Object.entries(operation.responses)) {
      responses.see(response, ({ description }) => nameOfResponse(Number(status), description));
    }
  }
  const shared = (operation: OperationObject): OperationObject => ({
    ...operation,
    ...(operation.parameters !== undefined && { parameters: operation.parameters.map((each) => parameters.use(each)) }),
    responses: Object.fromEntries(
      Object.entries(operation.responses).map(([status, response]) => [status, responses.use(response)]),
    ),
  });
  return withoutSingles({
    ...document,
    paths: withPathParameters(eachOperation(paths, shared)),
    webhooks: eachOperation(webhooks, shared),
    components: {
      ...components,
      schemas: withSharedParts(components.schemas),
      parameters: parameters.toJson(),
      responses: responses.toJson(),
    },
  });
}

/** Puts the parameters and responses that are used once where they are used. */
function withoutSingles(document: OpenApiDocument): OpenApiDocument {
  const counts = new Map<string, number>();
  for (const [reference] of JSON.stringify(document).matchAll(/#\/components\/(?:parameters|responses)\/[^"]+/g)) {
    counts.set(reference, (counts.get(reference) ?? 0) + 1);
  }
  const { parameters, responses } = document.components;
  const single = new Map<string, object>();
  const repeated = <Thing extends object>(section: string, named: Readonly<Record<string, Thing>>): typeof named => {
    const entries = Object.entries(named).filter(([name, thing]) => {
      const reference = `#/components/${section}/${name}`;
      if (counts.get(reference) === 1) single.set(reference, thing);
      return (counts.get(reference) ?? 0) > 1;
    });
    return Object.fromEntries(entries);
  };
  const components = {
    ...document.components,
    parameters: repeated('parameters', parameters),
    responses: repeated('responses', responses),
  };
  return { ...document, paths: inPlace(document.paths, single), components };
}

/** A copy in which the things of some references stand in their place. */
function inPlace<Value>(value: Value, things: ReadonlyMap<string, object>): Value {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((each: unknown) => inPlace(each, things)) as Value;
  const thing = '$ref' in value ? things.get(value.$ref as string) : undefined;
  if (thing !== undefined) return thing as Value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, inPlace(part, things)])) as Value;
}

/** A field is worth a name if that makes the document shorter. */
function isWorthName(name: string, shape: string, uses: number): boolean {
  const reference = JSON.stringify(referenceTo(name, {}, undefined));
  return uses * (shape.length - reference.length) > shape.length + name.length;
}

/** Things of one kind of component. The second place where one stands gives it a name. */
class Shared<Thing extends object> {
  readonly #section: string;
  readonly #named: Record<string, Thing>;
  readonly #nameByShape = new Map<string, string>();
  readonly #seen = new Set<string>();

  constructor(section: string, named: Readonly<Record<string, Thing>>) {
    this.#section = section;
    this.#named = { ...named };
  }

  see(thing: Thing | Reference, nameFor: (thing: Thing) => string): void {
    if ('$ref' in thing) return;
    const shape = shapeOf(thing);
    if (!this.#seen.has(shape)) this.#seen.add(shape);
    else if (!this.#nameByShape.has(shape)) {
      const name = freeName(nameFor(thing), this.#named);
      this.#nameByShape.set(shape, name);
      this.#named[name] = thing;
    }
  }

  use(thing: Thing | Reference): Thing | Reference {
    if ('$ref' in thing) return thing;
    const name = this.#nameByShape.get(shapeOf(thing));
    return name === undefined ? thing : { $ref: `#/components/${this.#section}/${name}` };
  }

  toJson(): Readonly<Record<string, Thing>> {
    return Object.fromEntries(Object.entries(this.#named).sort(([a], [b]) => (a < b ? -1 : 1)));
  }
}

/**
 * An object that stands inside several schemas becomes one, named after the first: "OauthModuleReplaceProviderAmazon".
 * So do fields that most resources have, such as "Metadata".
 */
function withSharedParts(schemas: Readonly<Record<string, JsonObject>>): Readonly<Record<string, JsonObject>> {
  const counts = new Map<string, number>();
  for (const schema of Object.values(schemas)) countParts(schema, counts);
  const named: Record<string, JsonObject> = {};
  const nameByShape = new Map<string, string>();
  const replace = (value: JsonValue, path: string, field: string): JsonValue => {
    if (Array.isArray(value)) return value.map((item: JsonValue) => replace(item, path, field));
    if (!isJsonObject(value)) return value;
    const shape = path in schemas ? null : shapeOfPart(value);
    const uses = shape === null ? 0 : (counts.get(shape) ?? 0);
    const isShared =
      shape !== null && (isObjectWithFields(value) ? uses > 1 : isWorthName(pascalCase(field), shape, uses));
    const known = isShared ? nameByShape.get(shape) : undefined;
    if (known !== undefined) return referenceTo(known, value, named[known]);
    const inner = Object.fromEntries(Object.entries(value).map(([key, part]) => [key, inside(key, part, path, field)]));
    if (!isShared) return inner;
    const name = freeName(isObjectWithFields(value) ? path : pascalCase(field), { ...schemas, ...named });
    nameByShape.set(shape, name);
    const { default: meant, ...definition } = inner;
    named[name] = isObjectWithFields(value) || meant === undefined ? definition : inner;
    return referenceTo(name, value, definition);
  };
  const inside = (key: string, part: JsonValue, path: string, field: string): JsonValue => {
    if (key === 'properties') {
      const fields = Object.entries(part as JsonObject);
      return Object.fromEntries(fields.map(([name, own]) => [name, replace(own, path + pascalCase(name), name)]));
    }
    return ['items', 'additionalProperties', 'anyOf', 'allOf'].includes(key) ? replace(part, path, field) : part;
  };
  const shared = Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [name, replace(schema, name, name) as JsonObject]),
  );
  return Object.fromEntries(Object.entries({ ...shared, ...named }).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** A description beside the reference replaces the one of the definition. */
function referenceTo(name: string, { description }: JsonObject, definition: JsonObject | undefined): JsonObject {
  const differs = description !== undefined && description !== definition?.['description'];
  return { $ref: `#/components/schemas/${name}`, ...(differs && { description }) };
}

/** Parts of an object that was counted before do not count again: the object is shared as a whole. */
function countParts(schema: JsonObject, counts: Map<string, number>): void {
  const inner = [
    ...Object.values((schema['properties'] ?? {}) as JsonObject),
    ...((schema['anyOf'] ?? schema['allOf'] ?? []) as readonly JsonValue[]),
    schema['items'],
    schema['additionalProperties'],
  ];
  for (const part of inner.filter(isPart)) {
    const shape = shapeOfPart(part);
    const before = shape === null ? 0 : (counts.get(shape) ?? 0);
    if (shape !== null) counts.set(shape, before + 1);
    if (before === 0) countParts(part, counts);
  }
}

function isPart(value: JsonValue | undefined): value is JsonObject {
  return value !== undefined && isJsonObject(value);
}

function isObjectWithFields(schema: JsonObject): boolean {
  return isJsonObject(schema['properties']) && typeof schema['type'] === 'string';
}

/**
 * Null for what is not shared: references, and enumerations, whose values the Go client of openapi-generator 7.25 makes
 * constants of its package, without the name of the type. The description of an object belongs to its place, that of a
 * field to the field.
 */
function shapeOfPart(part: JsonObject): string | null {
  if (isObjectWithFields(part)) {
    const { description: _, default: __, ...shape } = part;
    return canonicalJson(shape);
  }
  return '$ref' in part || 'enum' in part ? null : canonicalJson(part);
}

function shapeOf(thing: object): string {
  return canonicalJson(JSON.parse(JSON.stringify(thing)) as JsonValue);
}

/**
 * A path parameter is named after the kind of its id: EdgeId for `edge_id`, and TunnelSessionId for `id` of a tunnel
 * session.
 */
function nameOfParameter({ name, description }: ParameterObject): string {
  const kind = /^Id of the ([\w -]+?)(?: of an [\w -]+)?\.$/.exec(description)?.[1];
  return kind === undefined || name !== 'id' ? pascalCase(name) : pascalCase(`${kind} ${name}`);
}

/** "The resource is deleted." as `ResourceDeleted`. */
function nameOfResponse(status: number, description: string): string {
  if (status === 304) return 'NotModified';
  const words = description.toLowerCase().match(/\w+/g) ?? [];
  return pascalCase(words.filter((word) => !/^(the|a|an|is|has)$/.test(word)).join('_'));
}

function freeName(wanted: string, taken: Readonly<Record<string, unknown>>): string {
  let name = wanted;
  for (let next = 2; name in taken; next += 1) name = `${wanted}${next}`;
  return name;
}

function pascalCase(name: string): string {
  return name.replaceAll(/(?:^|[_ -])([a-z])/g, (_match, letter: string) => letter.toUpperCase()).replaceAll(' ', '');
}

/** Parameters that every operation of a path has are written once, at the path. */
function withPathParameters(paths: Readonly<Record<string, PathItem>>): Readonly<Record<string, PathItem>> {
  return Object.fromEntries(
    Object.entries(paths).map(([path, item]) => {
      const operations = operationsOf({ [path]: item });
      const shapes = operations.map(({ parameters = [] }) => new Set(parameters.map(shapeOf)));
      const isCommon = (parameter: object): boolean => shapes.every((each) => each.has(shapeOf(parameter)));
      const common = (operations[0]?.parameters ?? []).filter(isCommon);
      if (common.length === 0) return [path, item];
      const rest = eachOperation({ [path]: item }, ({ parameters = [], ...operation }) => {
        const own = parameters.filter((parameter) => !isCommon(parameter));
        return { ...operation, ...(own.length > 0 && { parameters: own }) };
      });
      return [path, { parameters: common, ...rest[path] }];
    }),
  );
}

function operationsOf(paths: Readonly<Record<string, PathItem>>): readonly OperationObject[] {
  return Object.values(paths).flatMap((item) => operationsAt(item).map(([, operation]) => operation));
}

function eachOperation(
  paths: Readonly<Record<string, PathItem>>,
  change: (operation: OperationObject) => OperationObject,
): Readonly<Record<string, PathItem>> {
  return Object.fromEntries(
    Object.entries(paths).map(([path, item]) => [
      path,
      Object.fromEntries(operationsAt(item).map(([method, operation]) => [method, change(operation)])),
    ]),
  );
}
