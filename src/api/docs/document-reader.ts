import type { ErrorCode, ErrorRow, ErrorRows } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/json.ts';
import { schemaSetBy, withDescriptionsOf } from '../../lib/schema/body-fields.ts';
import {
  type Method,
  type OpenApiDocument,
  type OperationObject,
  operationsAt,
  type Reference,
} from '../openapi/document.ts';

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
