import { readFileSync } from 'node:fs';
import type { Operation } from '../../resources/operation.ts';

/** An operation without its behaviour. */
export type OperationDescription = Omit<Operation, 'run'>;

export interface OperationFile {
  readonly operations: readonly OperationDescription[];
  /** By resource (`https_edges`) and by module of a resource (`https_edge_routes.oidc`). */
  readonly descriptions: Readonly<Record<string, string>>;
}

const OPERATIONS_URL = new URL('./generated/operations.json', import.meta.url);

/**
 * The operations of the API, read from a generated file: loading every module and resource took 0.5 s of each command.
 * `npm run check` compares the file with the registries.
 */
export function operationList(): readonly OperationDescription[] {
  return operationFile().operations;
}

export function resourceDescription(resource: string): string {
  return operationFile().descriptions[resource] ?? '';
}

function operationFile(): OperationFile {
  file ??= JSON.parse(readFileSync(OPERATIONS_URL, 'utf8')) as OperationFile;
  return file;
}

let file: OperationFile | undefined;
