import type { PosternApiError } from '../../client/postern-api-error.ts';
import { PosternConnectionError } from '../../client/postern-connection-error.ts';
import { printable } from './cell-text.ts';
import { connectionText, strangerAdvice } from './connection-text.ts';
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
    return [`postern: ${printable(connectionText(error))}`];
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

function apiHint(error: PosternApiError, { operation, keySource }: ReportContext): string {
  const { status, code } = error;
  const advice = strangerAdvice(error);
  if (advice !== null) return advice;
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
