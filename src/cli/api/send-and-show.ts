import { PosternApiError } from '../../client/postern-api-error.ts';
import { PosternConnectionError } from '../../client/postern-connection-error.ts';
import type { AnyOptions } from '../../client/request-options.ts';
import { Transport } from '../../client/transport.ts';
import { isOn, type ParsedFlags } from '../../lib/flags.ts';
import type { CommandContext } from '../command.ts';
import { Names } from '../names/names.ts';
import { resolveRequest } from '../names/resolve-request.ts';
import { sayWhileSlow } from '../output/say-while-slow.ts';
import { printJson, printStructured } from '../output/structured-text.ts';
import { fetchWith } from './api-fetch.ts';
import type { ApiKey } from './api-key.ts';
import { type RequestParts, requestOf } from './build-request.ts';
import { printable } from './cell-text.ts';
import { createdWarnings } from './created-warnings.ts';
import { errorReport } from './error-report.ts';
import type { OperationDescription } from './operation-list.ts';
import { listItems } from './resource-names.ts';
import { type ParsedAnswer, sendForAll, sendOnce } from './send-request.ts';
import { showAnswer, showOnly } from './show-answer.ts';
import type { ShownForm } from './shown-form.ts';

const EXIT_REFUSED = 1;
const EXIT_UNREACHABLE = 3;

export interface OperationCall {
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
