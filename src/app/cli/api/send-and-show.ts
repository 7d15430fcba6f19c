import { PosternApiError, PosternConnectionError } from '../../../client/call-errors.ts';
import type { AnyOptions } from '../../../client/request-options.ts';
import { SITE_EDGE } from '../../../client/sites.ts';
import { Transport } from '../../../client/transport.ts';
import { isOn, type ParsedFlags } from '../../../kit/flags.ts';
import type { JsonObject } from '../../../kit/json.ts';
import type { CommandContext } from '../command.ts';
import { Names } from '../names/names.ts';
import { resolveRequest } from '../names/resolve-request.ts';
import { cellText, printable } from '../output/cell-text.ts';
import { printJson, printStructured } from '../output/output-format.ts';
import { sayWhileSlow } from '../output/terminal.ts';
import { fetchWith } from './api-fetch.ts';
import { type ApiKey, keyAdvice } from './api-key.ts';
import { kebab, listItems, moduleName, resourceName, verbWord } from './api-resources.ts';
import { type RequestParts, requestOf } from './build-request.ts';
import { connectionText, strangerAdvice } from './connection-text.ts';
import type { OperationDescription } from './operation-list.ts';
import { type ParsedAnswer, sendForAll, sendOnce } from './send-request.ts';
import { type ShownForm, showAnswer, showOnly } from './show-answer.ts';

const EXIT_REFUSED = 1;
const EXIT_UNREACHABLE = 3;

interface OperationCall {
  readonly operation: OperationDescription;
  readonly parts: RequestParts;
  readonly parsed: ParsedFlags;
  readonly options: AnyOptions;
  readonly shown: ShownForm;
  readonly url: string;
  readonly apiKey: ApiKey;
}

/** Resolves to the exit code. */
export async function sendAndShow(call: OperationCall, context: CommandContext): Promise<number> {
  const { operation, parts, parsed, options, shown, url, apiKey } = call;
  const note = (line: string): void => (isOn(parsed, 'verbose') ? context.warn(line) : undefined);
  const transport = new Transport({ baseUrl: url, fetch: fetchWith(apiKey), apiKey: apiKey.key });
  try {
    const request = requestOf(operation, await resolveRequest(operation, parts, new Names(transport, context)));
    note(`> ${request.method} ${url}${request.path}, key from ${apiKey.source}`);
    const list = listItems(operation);
    const waiting = (): string => `waiting for ${url}`;
    const answer =
      list !== null && isOn(parsed, 'all')
        ? await sayWhileSlow(context, waiting, () => sendForAll(transport, request, list.key))
        : await sayWhileSlow(context, waiting, () => sendOnce(transport, request, options));
    const { status, operationId, etag, revision, problem, warning } = answer.raw.info;
    note(`< ${status} ${operationId ?? ''} etag ${etag ?? '-'} revision ${revision ?? '-'}`);
    await show(answer, operation, shown, context);
    for (const line of createdWarnings(operation, answer.body)) context.warn(`postern: warning: ${line}`);
    if (problem !== null) context.warn(`postern: warning: all traffic is rejected: ${printable(problem)}`);
    if (warning !== null) context.warn(`postern: warning: ${printable(warning)}`);
    return 0;
  } catch (error) {
    if (!(error instanceof PosternApiError) && !(error instanceof PosternConnectionError)) throw error;
    const report = errorReport(error, { operation, apiUrl: url, keySource: apiKey.source });
    if (shown.format === 'json' && error instanceof PosternApiError) context.warn(error.text);
    else for (const line of report) context.warn(line);
    return error instanceof PosternApiError ? EXIT_REFUSED : EXIT_UNREACHABLE;
  }
}

async function show(
  { raw, body }: ParsedAnswer,
  operation: OperationDescription,
  { format, only, isUtc }: ShownForm,
  context: CommandContext,
): Promise<void> {
  if (only !== null) {
    if (body !== null) showOnly(operation, body, only, context);
    else showAnswer(operation, raw, body, context, isUtc);
  } else if (format === 'table') showAnswer(operation, raw, body, context, isUtc);
  else if (format === 'json' && raw.text !== '') printJson(raw.text, context);
  else if (format === 'yaml' && body !== null) printStructured(body, 'yaml', context);
}

const UNAUTHENTICATED = 401;

interface ReportContext {
  readonly operation: OperationDescription;
  readonly apiUrl: string;
  /** Where the key came from, for messages. */
  readonly keySource: string;
}

/** The error and what to do about it, for standard error. */
function errorReport(error: PosternApiError | PosternConnectionError, context: ReportContext): readonly string[] {
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

/** Warnings about a resource that was created as requested but has no effect yet. */
function createdWarnings({ resource, verb }: OperationDescription, body: JsonObject | null): readonly string[] {
  if (resource !== SITE_EDGE.resource || verb !== 'create' || body === null) return [];
  const { id, hostports } = body;
  return Array.isArray(hostports) && hostports.length === 0
    ? [
        `the edge has no hosts. Add one: postern api https-edges update --id ${cellText(id)} --hostports app.example.com:443`,
      ]
    : [];
}
