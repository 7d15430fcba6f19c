import type { TSchema } from 'typebox';
import type { AnyOptions } from '../../../client/request-options.ts';
import type { ApiRequest } from '../../../client/transport.ts';
import { type FlagRules, isOn, type ParsedFlags, parseFlags, usage } from '../../../kit/flags.ts';
import { isJsonObject, type JsonValue } from '../../../kit/json.ts';
import { isObjectSchema, itemsWithSecrets, secretVisibility } from '../../../kit/schema/schema-facts.ts';
import { type Command, type CommandContext, keyRefusal } from '../command.ts';
import { resolvedIfPossible } from '../names/resolve-request.ts';
import { watch, watchInterval } from '../output/watch.ts';
import { apiAccess } from './api-access.ts';
import { type ApiResource, apiResources, findOperation, findResource, verbWord } from './api-resources.ts';
import { requestOf, requestParts } from './build-request.ts';
import { apiUrl, findApiKey } from './connection.ts';
import { API_SYNTAX, operationHelp, overviewHelp, resourceHelp } from './help-text.ts';
import { operationFlags } from './operation-flags.ts';
import type { OperationDescription } from './operation-list.ts';
import { sendAndShow } from './send-and-show.ts';
import { shownForm } from './show-answer.ts';
import { createTextSource, type TextSource } from './text-source.ts';

const EXIT_USAGE = 2;

/** `postern api RESOURCE VERB`, built from the list of operations. */
export function createApiCommand(
  operations: readonly OperationDescription[],
  source: TextSource = createTextSource(),
): Command {
  const resources = apiResources(operations);
  return {
    syntax: API_SYNTAX,
    helpFor: (args, isWhole) => helpFor(resources, args, isWhole),
    run: async ([noun, verb, ...args], context) => {
      if (noun === undefined) {
        context.warn(overviewHelp(resources));
        return EXIT_USAGE;
      }
      if (noun.startsWith('-')) throw usage('flags come last: postern api RESOURCE VERB [FLAGS]');
      const resource = findResource(resources, noun);
      if (verb === undefined || verb.startsWith('-')) {
        context.warn(resourceHelp(resource));
        return EXIT_USAGE;
      }
      const operation = findOperation(resource, verb);
      return runOperation(operation, args, { context, source, rules: rulesOf(resource, operation) });
    },
  };
}

/** The help for the words before `--help`. */
function helpFor(resources: readonly ApiResource[], args: readonly string[], isWhole: boolean): string {
  const [noun, verb] = args;
  if (noun === undefined || noun.startsWith('-')) return overviewHelp(resources);
  const resource = findResource(resources, noun);
  return verb === undefined || verb.startsWith('-')
    ? resourceHelp(resource)
    : operationHelp(findOperation(resource, verb), isWhole);
}

interface Surroundings {
  readonly context: CommandContext;
  readonly source: TextSource;
  readonly rules: FlagRules;
}

function rulesOf(resource: ApiResource, operation: OperationDescription): FlagRules {
  const create = operation.verb === 'update' ? resource.operations.find(({ verb }) => verb === 'create') : undefined;
  const refusal = (name: string): string | undefined => {
    const isOfCreate = create !== undefined && operationFlags(create).some((flag) => flag.name === name);
    if (!isOfCreate) return keyRefusal(name);
    return `--${name} cannot be changed: only "create" accepts it. Create another resource with the new value, then delete this one`;
  };
  return { command: `postern api ${resource.name} ${verbWord(operation)}`, refusal };
}

async function runOperation(
  operation: OperationDescription,
  args: readonly string[],
  { context, source, rules }: Surroundings,
): Promise<number> {
  const flags = operationFlags(operation);
  const parsed = parseFlags(args, flags, rules);
  const parts = await requestParts(operation, flags, parsed, source);
  const options = requestOptions(parsed);
  const shown = shownForm(operation, parsed);
  if (isOn(parsed, 'dry-run')) {
    const url = await apiUrl(parsed, context);
    const apiKey = await findApiKey(url, parsed, context, source).catch(() => null);
    const request = requestOf(operation, await resolvedIfPossible(operation, parts, { url, apiKey, context }));
    for (const line of dryRun(url, request, headersOf(options), operation.body?.schema)) context.print(line);
    return 0;
  }
  const { url, apiKey } = await apiAccess(parsed, context, source);
  const everyMs = watchInterval(parsed);
  const call = { operation, parts, parsed, options, shown, url, apiKey };
  if (everyMs === null) return sendAndShow(call, context);
  return watch(context, { everyMs, format: shown.format }, (captured) => sendAndShow(call, captured));
}

function requestOptions({ flags }: ParsedFlags): AnyOptions {
  const [ifMatch, ifNoneMatch] = [flags.get('if-match'), flags.get('if-none-match')];
  const idempotencyKey = flags.get('idempotency-key');
  return {
    ...(ifMatch !== undefined && { ifMatch: quoted(ifMatch) }),
    ...(ifNoneMatch !== undefined && { ifNoneMatch: quoted(ifNoneMatch) }),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
  };
}

/** Shells remove the quotes of an ETag. */
function quoted(etag: string): string {
  return /^\d+$/.test(etag) ? `"${etag}"` : etag;
}

function headersOf({ ifMatch, ifNoneMatch, idempotencyKey }: AnyOptions): Readonly<Record<string, string>> {
  return {
    ...(typeof ifMatch === 'string' && { 'if-match': ifMatch }),
    ...(typeof ifNoneMatch === 'string' && { 'if-none-match': ifNoneMatch }),
    ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
  };
}

const MASK = '********';

/** The request as text, with all secrets masked. */
export function dryRun(
  url: string,
  request: ApiRequest,
  headers: Readonly<Record<string, string>>,
  schema: TSchema | undefined,
): readonly string[] {
  const sent = {
    authorization: `Bearer ${MASK}`,
    'service-version': '2',
    ...(request.body !== undefined && { 'content-type': 'application/json' }),
    ...headers,
  };
  const body =
    request.body === undefined ? [] : ['', JSON.stringify(masked(request.body as JsonValue, schema), null, 2)];
  return [
    `${request.method} ${url}${request.path}`,
    ...Object.entries(sent).map(([name, value]) => `${name}: ${value}`),
    ...body,
  ];
}

function masked(value: JsonValue, schema: TSchema | undefined): JsonValue {
  if (schema !== undefined && secretVisibility(schema) !== undefined) return MASK;
  const items = schema === undefined ? null : itemsWithSecrets(schema);
  if (items !== null && Array.isArray(value)) return value.map((item: JsonValue) => masked(item, items));
  if (!isJsonObject(value) || schema === undefined || !isObjectSchema(schema)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, masked(inner, schema.properties[name])]),
  );
}
