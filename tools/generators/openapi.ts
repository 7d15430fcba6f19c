import { allErrorRows } from '../../src/app/main/error-tables.ts';
import { programVersion } from '../../src/app/main/version.ts';
import { registeredOperations } from '../../src/control/api/openapi/registered-operations.ts';
import { openApiDocument } from '../../src/control/api/openapi.ts';
import { resources } from '../../src/control/resources/registry.ts';
import { modules } from '../../src/modules/registry.ts';

/** Address of a server with the default settings. */
const SERVER_URL = 'http://127.0.0.1:7080';

/** Operations and components are at this depth. */
const LINE_DEPTH = 3;

export const name = 'openapi';

export function generate(): Promise<Map<string, string>> {
  const { catalog, operations } = registeredOperations(resources, modules);
  const options = { catalog, errorRows: allErrorRows(), version: programVersion(), serverUrl: SERVER_URL };
  const document = openApiDocument(operations, options);
  return Promise.resolve(new Map([['openapi.json', printed(document)]]));
}

/** A line for each operation and each component, so that a change shows its lines, and no other white space. */
function printed(document: object): string {
  const section = (value: object, depth: number): string => {
    const lines = Object.entries(value).map(([key, part]: [string, unknown]) => {
      const isDeeper = depth < LINE_DEPTH && typeof part === 'object' && part !== null && !Array.isArray(part);
      return `${JSON.stringify(key)}:${isDeeper ? section(part, depth + 1) : JSON.stringify(part)}`;
    });
    return lines.length === 0 ? '{}' : `{\n${lines.join(',\n')}\n}`;
  };
  return `${section(document, 1)}\n`;
}
