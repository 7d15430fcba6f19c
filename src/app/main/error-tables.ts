import { backends } from '../../backends/registry.ts';
import { apiErrors } from '../../control/api/errors.ts';
import { consoleErrors } from '../../control/console/errors.ts';
import { documentErrors } from '../../control/documents/errors.ts';
import { identityErrors } from '../../control/identity/errors.ts';
import { resourceErrors } from '../../control/resources/errors.ts';
import type { ErrorCode, ErrorRow, ErrorRows } from '../../kit/errors.ts';
import { flagErrors } from '../../kit/flags.ts';
import { partErrors } from '../../kit/load-part.ts';
import { moduleErrors } from '../../modules/contract/errors.ts';
import { modules } from '../../modules/registry.ts';
import { sharedRuntimes } from '../../modules/reserved-names.ts';
import { acmeErrors } from '../../proxy/acme/errors.ts';
import { edgeErrors } from '../../proxy/edge/errors.ts';
import { pkiErrors } from '../../proxy/pki/errors.ts';
import { tracingErrors } from '../../proxy/tracing/errors.ts';
import { storeErrors } from '../../store/errors.ts';
import { agentErrors } from '../../tunnel/agent/errors.ts';
import { gatewayErrors } from '../../tunnel/gateway/errors.ts';
import { nodeErrors } from '../../tunnel/nodes/errors.ts';
import { agentCommandErrors } from '../cli/agent/errors.ts';
import { importErrors } from '../cli/import/errors.ts';
import { serviceErrors } from '../cli/service/errors.ts';
import { upErrors } from '../cli/up/errors.ts';
import { configErrors } from '../settings/errors.ts';
import { mainErrors } from './errors.ts';

/**
 * Every error table, in the order of the error page; modules declare their own. A test compares this list with the
 * sources.
 */
export const errorTables: readonly { readonly title: string; readonly rows: ErrorRows }[] = [
  { title: 'Requests', rows: apiErrors.rows },
  { title: 'The console', rows: consoleErrors.rows },
  { title: 'Configuration of edges, backends and other resources', rows: documentErrors.rows },
  { title: 'Resources', rows: resourceErrors.rows },
  { title: 'Traffic: the edge', rows: edgeErrors.rows },
  ...backends.flatMap(({ name, errors }) =>
    errors === undefined ? [] : [{ title: `Traffic: ${name} backends`, rows: errors }],
  ),
  { title: 'Traffic: modules', rows: moduleErrors.rows },
  ...modules.flatMap(({ errors }) => errors ?? []),
  ...sharedRuntimes(modules).flatMap(({ errors }) => errors ?? []),
  { title: 'Identity: the pages of the identity host', rows: identityErrors.rows },
  { title: 'Tunnels: sent to agents', rows: gatewayErrors.rows },
  { title: 'Tunnels: in the agent', rows: agentErrors.rows },
  { title: 'The store', rows: storeErrors.rows },
  { title: 'Settings', rows: configErrors.rows },
  { title: 'Nodes', rows: nodeErrors.rows },
  { title: 'Traces', rows: tracingErrors.rows },
  { title: 'Server certificates', rows: pkiErrors.rows },
  { title: 'Certificates from ACME servers', rows: acmeErrors.rows },
  { title: 'The program', rows: mainErrors.rows },
  { title: 'The program: its files', rows: partErrors.rows },
  { title: 'The command line', rows: flagErrors.rows },
  { title: 'The command line: agent commands', rows: agentCommandErrors.rows },
  { title: 'The command line: imports', rows: importErrors.rows },
  { title: 'The command line: services', rows: serviceErrors.rows },
  { title: 'The command line: postern up', rows: upErrors.rows },
];

export function allErrorRows(): ErrorRows {
  const rows = errorTables.flatMap((table) => Object.entries(table.rows) as [ErrorCode, ErrorRow][]);
  return Object.fromEntries(rows) as ErrorRows;
}
