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

/** Looks up parts of a document. */
export class DocumentReader {
  readonly document: OpenApiDocument;

  constructor(document: OpenApiDocument) {
    this.document = document;
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

  /** The status that goes with an error code. */
  statusOf(code: string): number {
    return this.document.components.examples[code]?.value['status_code'] as number;
  }

  /** The target of a reference, or the object itself. */
  resolve<Thing extends object>(thing: Thing | Reference): Thing {
    if (!('$ref' in thing)) return thing;
    const steps = thing.$ref.replace(/^#\//, '').split('/');
    // Our own document: a test checks that every reference in it resolves.
    return steps.reduce((at, step) => (at as Record<string, object>)[step] as object, this.document as object) as Thing;
  }
}
