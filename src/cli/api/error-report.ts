import type { PosternApiError } from '../../client/postern-api-error.ts';
import { PosternConnectionError } from '../../client/postern-connection-error.ts';
import { printable } from './cell-text.ts';
import { keyAdvice } from './key-advice.ts';
import type { OperationDescription } from './operation-list.ts';
import { kebab, moduleName, resourceName, verbWord } from './resource-names.ts';

const UNAUTHENTICATED = 401;

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
  const place = error.status === UNAUTHENTICATED ? `${context.apiUrl}: ` : '';
  return [
    `postern: ${printable(`${place}${error.message}`)}`,
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
  if (error.failure === 'not_postern') return `${apiUrl} is not a Postern API: check --api-url or POSTERN_CLI_API_URL`;
  if (/certificate|self[- ]signed|issuer/i.test(error.message)) {
    return 'the certificate is not trusted: pass its CA with --root-ca FILE; "postern ca print" on the server prints it';
  }
  if (/use https?:/.test(error.message)) return 'the scheme of --api-url or POSTERN_CLI_API_URL is the wrong one';
  return `check that the server runs and listens at ${apiUrl}, or set another address with --api-url or POSTERN_CLI_API_URL`;
}

function apiHint({ status, code }: PosternApiError, { operation, keySource }: ReportContext): string {
  const resource = kebab(resourceName(operation));
  switch (status) {
    case 401:
      return keyAdvice(keySource);
    case 403:
      return `the key came from ${keySource}; "postern api api-keys list" shows the scopes of each key`;
    case 404:
      return code === 'ERR_POSTERN_UNKNOWN_PATH'
        ? 'the server does not support this operation: it may be a different version'
        : moduleName(operation.resource) === null
          ? `a name must be written exactly: "postern api ${resource} list" shows the names and ids that exist`
          : `"postern api ${resource} replace" sets the module on an existing route or edge`;
    case 409:
      return 'resolve the conflict that the message names, then retry';
    case 412:
      return 'it has changed since: read it again with get --verbose and use the new ETag';
    case 429:
      return 'wait a moment, then retry';
    default:
      return status >= 500
        ? "find this operation ID in the server's log"
        : `"postern api ${resource} ${verbWord(operation)} --help" lists its flags`;
  }
}
