import { PosternApiError } from '../../client/postern-api-error.ts';
import { PosternConnectionError } from '../../client/postern-connection-error.ts';
import type { AnyOptions } from '../../client/request-options.ts';
import { Transport } from '../../client/transport.ts';
import { usage } from '../../lib/flags.ts';
import type { Command, CommandContext } from '../command.ts';
import { wrapHelp } from '../wrap-help.ts';
import { type ApiResource, apiResources, findOperation, findResource } from './api-resources.ts';
import { buildRequest } from './build-request.ts';
import { printable } from './cell-text.ts';
import { apiUrl, findApiKey, isOnThisMachine, trustRootCa } from './connection.ts';
import { createdWarnings } from './created-warnings.ts';
import { dryRun } from './dry-run.ts';
import { errorReport } from './error-report.ts';
import { operationHelp, overviewHelp, resourceHelp } from './help-text.ts';
import { operationFlags } from './operation-flags.ts';
import type { OperationDescription } from './operation-list.ts';
import { type ParsedArguments, parseArguments } from './parse-arguments.ts';
import { listItems } from './resource-names.ts';
import { sendForAll, sendOnce } from './send-request.ts';
import { checkOnly, showAnswer, showOnly } from './show-answer.ts';
import { createTextSource, type TextSource } from './text-source.ts';

const EXIT_REFUSED = 1;
const EXIT_USAGE = 2;
const EXIT_UNREACHABLE = 3;

/** `postern api RESOURCE VERB`, built from the list of operations. */
export function createApiCommand(
  operations: readonly OperationDescription[],
  source: TextSource = createTextSource(),
): Command {
  const resources = apiResources(operations);
  return {
    help: overviewHelp(resources),
    helpFor: (args) => helpFor(resources, args),
    run: async ([noun, verb, ...args], context) => {
      if (noun === undefined) {
        context.warn(wrapHelp(overviewHelp(resources)));
        return EXIT_USAGE;
      }
      if (noun.startsWith('-')) throw usage('flags come last: postern api RESOURCE VERB [FLAGS]');
      const resource = findResource(resources, noun);
      if (verb === undefined || verb.startsWith('-')) {
        context.warn(wrapHelp(resourceHelp(resource)));
        return EXIT_USAGE;
      }
      const operation = findOperation(resource, verb);
      return runOperation(operation, args, { context, source, createOnly: createOnlyFlags(resource, operation) });
    },
  };
}

/** The help for the words before `--help`. */
function helpFor(resources: readonly ApiResource[], args: readonly string[]): string {
  const [noun, verb] = args;
  if (noun === undefined || noun.startsWith('-')) return overviewHelp(resources);
  const resource = findResource(resources, noun);
  return verb === undefined || verb.startsWith('-')
    ? resourceHelp(resource)
    : operationHelp(findOperation(resource, verb));
}

interface Surroundings {
  readonly context: CommandContext;
  readonly source: TextSource;
  readonly createOnly: readonly string[];
}

function createOnlyFlags(resource: ApiResource, operation: OperationDescription): readonly string[] {
  const create = operation.verb === 'update' && resource.operations.find(({ verb }) => verb === 'create');
  return create ? operationFlags(create).map(({ name }) => name) : [];
}

async function runOperation(
  operation: OperationDescription,
  args: readonly string[],
  { context, source, createOnly }: Surroundings,
): Promise<number> {
  const flags = operationFlags(operation);
  const parsed = parseArguments(args, flags, createOnly);
  const request = await buildRequest(operation, flags, parsed, source);
  const options = requestOptions(parsed);
  const [only] = parsed.values.get('only') ?? [];
  if (only !== undefined) checkOnly(operation, only);
  const url = apiUrl(parsed, context);
  if (isOn(parsed, 'dry-run')) {
    for (const line of dryRun(url, request, headersOf(options), operation.body?.schema)) context.print(line);
    return 0;
  }
  const apiKey = await findApiKey(url, parsed, context, source);
  if (apiKey === null) throw usage(noKey(url));
  await trustRootCa(parsed, source);
  const note = (line: string): void => (isOn(parsed, 'verbose') ? context.warn(line) : undefined);
  if (url.startsWith('http:') && !isOnThisMachine(url))
    context.warn(`postern: warning: ${url} is not encrypted: the API key is sent in clear text`);
  note(`> ${request.method} ${url}${request.path}, key from ${apiKey.source}`);
  const transport = new Transport({ baseUrl: url, apiKey: apiKey.key });
  try {
    const list = listItems(operation);
    const { raw, body } =
      list !== null && isOn(parsed, 'all')
        ? await sendForAll(transport, request, list.key)
        : await sendOnce(transport, request, options);
    const { status, operationId, etag, revision, problem, warning } = raw.info;
    note(`< ${status} ${operationId ?? ''} etag ${etag ?? '-'} revision ${revision ?? '-'}`);
    if (only !== undefined && body !== null) showOnly(operation, body, only, context);
    else if (!isOn(parsed, 'json')) showAnswer(operation, raw, body, context);
    else if (raw.text !== '') context.print(raw.text);
    for (const line of createdWarnings(operation, body)) context.warn(`postern: warning: ${line}`);
    if (problem !== null) context.warn(`postern: warning: all traffic is rejected: ${printable(problem)}`);
    if (warning !== null) context.warn(`postern: warning: ${printable(warning)}`);
    return 0;
  } catch (error) {
    if (!(error instanceof PosternApiError) && !(error instanceof PosternConnectionError)) throw error;
    const report = errorReport(error, { operation, apiUrl: url, keySource: apiKey.source });
    if (isOn(parsed, 'json') && error instanceof PosternApiError) context.warn(error.text);
    else for (const line of report) context.warn(line);
    return error instanceof PosternApiError ? EXIT_REFUSED : EXIT_UNREACHABLE;
  }
}

function requestOptions({ values }: ParsedArguments): AnyOptions {
  const [ifMatch] = values.get('if-match') ?? [];
  const [idempotencyKey] = values.get('idempotency-key') ?? [];
  return {
    // Shells remove the quotes of an ETag.
    ...(ifMatch !== undefined && { ifMatch: /^\d+$/.test(ifMatch) ? `"${ifMatch}"` : ifMatch }),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
  };
}

function headersOf({ ifMatch, idempotencyKey }: AnyOptions): Readonly<Record<string, string>> {
  return {
    ...(typeof ifMatch === 'string' && { 'if-match': ifMatch }),
    ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
  };
}

function isOn({ values }: ParsedArguments, name: string): boolean {
  return values.get(name)?.[0] === 'true';
}

function noKey(url: string): string {
  const local = isOnThisMachine(url)
    ? ' (POSTERN_DATA_DIR or ./postern-data has no first-api-key: a server that was first started in a terminal printed its key there, once)'
    : '';
  return `no API key: set POSTERN_CLI_API_KEY or --api-key-file FILE${local}`;
}
