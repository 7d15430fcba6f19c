import type { PosternApiError } from '../../client/postern-api-error.ts';
import { PosternConnectionError } from '../../client/postern-connection-error.ts';
import { printable } from './cell-text.ts';
import type { OperationDescription } from './operation-list.ts';
import { kebab, moduleName, resourceName } from './resource-names.ts';

export interface ReportContext {
  readonly operation: OperationDescription;
  readonly apiUrl: string;
  /** Where the key came from, for messages. */
  readonly keySource: string;
}

/** The error and what to do about it, for standard error. */
export function errorReport(
  error: PosternApiError | PosternConnectionError,
  context: ReportContext,
): readonly string[] {
  if (error instanceof PosternConnectionError) {
    return [`postern: ${printable(error.message)}`, ...rows([['hint', connectionHint(error, context)]])];
  }
  const { operation_id: _, ...details } = error.details;
  return [
    `postern: ${printable(error.message)}`,
    ...rows([
      ['code', `${error.code} (${error.status})`],
      ...(error.operationId === null ? [] : [['operation', error.operationId] as const]),
      ...Object.entries(details),
      ['hint', apiHint(error, context)],
    ]),
  ];
}

function rows(entries: readonly (readonly [string, string])[]): readonly string[] {
  const width = Math.max(...entries.map(([name]) => name.length)) + 2;
  return entries.map(([name, text]) => `  ${printable(name).padEnd(width)}${printable(text)}`);
}

function connectionHint(error: PosternConnectionError, { apiUrl }: ReportContext): string {
  if (error.failure === 'not_postern')
    return `something else answers at ${apiUrl}: check --api-url or POSTERN_CLI_API_URL`;
  if (/certificate|self[- ]signed|issuer/i.test(error.message)) {
    return 'the certificate is not trusted: name its CA with --root-ca FILE; "postern ca print" on the machine of the server prints it';
  }
  return `is the server running, and is ${apiUrl} its address? --api-url or POSTERN_CLI_API_URL names another`;
}

function apiHint({ status, code }: PosternApiError, { operation, keySource }: ReportContext): string {
  const resource = kebab(resourceName(operation));
  switch (status) {
    case 401:
      return `the key came from ${keySource}; --api-key-file or POSTERN_CLI_API_KEY name another`;
    case 403:
      return `the key came from ${keySource}; "postern api api-keys list" shows what each key may do`;
    case 404:
      return code === 'ERR_POSTERN_UNKNOWN_PATH'
        ? 'the server does not know this operation: it may be of another version'
        : moduleName(operation.resource) === null
          ? `"postern api ${resource} list" shows what there is`
          : `"postern api ${resource} replace" sets the module, on a route or edge that exists`;
    case 409:
      return 'change what the message names, then try again';
    case 412:
      return 'somebody changed it since: read it again with get --verbose, and use its new ETag';
    case 429:
      return 'wait a moment and try again';
    default:
      return status >= 500
        ? "the server's log has a line with this operation id"
        : `"postern api ${resource} ${operation.verb} --help" says what it takes`;
  }
}
