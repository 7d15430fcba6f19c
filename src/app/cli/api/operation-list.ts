import type { Operation } from '../../../control/resources/operation.ts';
import { readProgramFile } from '../../../kit/program-files.ts';

/** An operation without its behaviour. */
export type OperationDescription = Omit<Operation, 'run'>;

export interface OperationFile {
  readonly operations: readonly OperationDescription[];
  /** By resource (`https_edges`) and by module of a resource (`https_edge_routes.oidc`). */
  readonly descriptions: Readonly<Record<string, string>>;
}

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
  file ??= JSON.parse(readProgramFile('app/cli/api/generated/operations.json')) as OperationFile;
  return file;
}

let file: OperationFile | undefined;
