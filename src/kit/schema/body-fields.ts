/** The parts of a documented schema that say what a field of a body means. */
interface DocumentedSchema {
  readonly description?: unknown;
  readonly properties?: unknown;
  readonly 'x-reference'?: unknown;
}

/** `HttpsEdgeCreate`, `HttpsEdgeUpdate` and `OidcModuleReplace` set the fields of `HttpsEdge` and `OidcModule`. */
const BODY_NAME = /^(.+)(?:Create|Update|Replace)$/;

/** The resource or module whose fields the named body sets; undefined if the schema is not such a body. */
export function schemaSetBy<Schema>(bodyName: string, schemas: Readonly<Record<string, Schema>>): Schema | undefined {
  const name = BODY_NAME.exec(bodyName)?.[1];
  return name === undefined || !Object.hasOwn(schemas, name) ? undefined : schemas[name];
}

/** The field of the resource that a field of a body sets: `ip_policy_id` sets the Ref `ip_policy`. */
export function fieldSetBy<Schema extends DocumentedSchema>(
  name: string,
  field: Schema,
  resource: DocumentedSchema,
): Schema | undefined {
  const fields = (resource.properties ?? {}) as Readonly<Record<string, Schema>>;
  const { readAs } = (field['x-reference'] ?? {}) as { readonly readAs?: string };
  return fields[name] ?? (readAs === undefined ? undefined : fields[readAs]);
}

/**
 * A body with the descriptions that its fields have at its resource: the document does not repeat them. `resolved`
 * follows the reference of a field that many objects have.
 */
export function withDescriptionsOf<Schema extends DocumentedSchema>(
  body: Schema,
  resource: DocumentedSchema,
  resolved: (field: Schema) => Schema,
): Schema {
  const fields = (body.properties ?? {}) as Readonly<Record<string, Schema>>;
  const described = Object.entries(fields).map(([name, field]): [string, Schema] => {
    const target = resolved(field);
    if (target.description !== undefined) return [name, field];
    const own = fieldSetBy(name, target, resource);
    const description = own === undefined ? undefined : resolved(own).description;
    return [name, description === undefined ? field : { ...field, description }];
  });
  return { ...body, properties: Object.fromEntries(described) };
}
