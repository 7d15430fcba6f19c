import { registeredOperations } from '../../src/api/openapi/registered-operations.ts';
import { openApiDocument } from '../../src/api/openapi.ts';
import { allErrorRows } from '../../src/main/error-tables.ts';
import { programVersion } from '../../src/main/version.ts';
import { modules } from '../../src/modules/registry.ts';
import { resources } from '../../src/resources/registry.ts';

/** Address of a server with the default settings. */
const SERVER_URL = 'http://127.0.0.1:7080';

export const name = 'openapi';

export function generate(): Promise<Map<string, string>> {
  const { catalog, operations } = registeredOperations(resources, modules);
  const options = { catalog, errorRows: allErrorRows(), version: programVersion(), serverUrl: SERVER_URL };
  const document = openApiDocument(operations, options);
  return Promise.resolve(new Map([['openapi.json', `${JSON.stringify(document, null, 2)}\n`]]));
}
