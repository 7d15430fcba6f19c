import type { Operation, OperationRequest, OperationResult } from '../../resources/operation.ts';
import type { Documents } from '../documents.ts';

/** An operation that only writes documents, so that a changeset can run it on staged ones. */
export interface WriteOperation extends Operation {
  runOn(documents: Documents, request: OperationRequest): Promise<OperationResult>;
}

type RunOn = WriteOperation['runOn'];

/** How an operation runs: on the configuration itself, or on the staged one of a changeset. */
export function writing(
  documents: Documents,
  runOn: RunOn,
): Pick<WriteOperation, 'runOn'> & Pick<Operation<unknown>, 'run'> {
  return { runOn, run: (request) => runOn(documents, request) };
}

export interface FoundOperation {
  readonly operation: WriteOperation;
  readonly params: Readonly<Record<string, string>>;
}

/** Finds operations by method and path. */
export class WriteOperations {
  /** By method and number of segments. */
  readonly #byShape = new Map<string, { readonly operation: WriteOperation; readonly segments: readonly string[] }[]>();

  constructor(operations: readonly Operation[]) {
    for (const operation of operations) {
      if (!isWriteOperation(operation)) continue;
      const segments = operation.path.split('/');
      const shape = shapeOf(operation.method, segments);
      const known = this.#byShape.get(shape);
      if (known === undefined) this.#byShape.set(shape, [{ operation, segments }]);
      else known.push({ operation, segments });
    }
  }

  find(method: string, path: string): FoundOperation | null {
    const given = path.split('/');
    for (const { operation, segments } of this.#byShape.get(shapeOf(method, given)) ?? []) {
      const params = paramsOf(segments, given);
      if (params !== null) return { operation, params };
    }
    return null;
  }
}

function isWriteOperation(operation: Operation): operation is WriteOperation {
  return 'runOn' in operation;
}

function shapeOf(method: string, segments: readonly string[]): string {
  return `${method} ${segments.length}`;
}

function paramsOf(segments: readonly string[], given: readonly string[]): Record<string, string> | null {
  const params: Record<string, string> = {};
  for (const [at, segment] of segments.entries()) {
    const value = given[at] as string;
    if (segment.startsWith('{')) params[segment.slice(1, -1)] = value;
    else if (segment !== value) return null;
  }
  return params;
}
