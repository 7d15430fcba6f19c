import { fillPath, queryString } from '../../../client/fill-path.ts';
import { SITE_ROUTE } from '../../../client/sites.ts';
import type { ApiRequest } from '../../../client/transport.ts';
import { type ParsedFlags, usage } from '../../../kit/flags.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../kit/json.ts';
import { pathParameters } from './api-resources.ts';
import { type ApiFlag, flagValue, parseJson } from './body-flags.ts';
import type { OperationDescription } from './operation-list.ts';
import { fileObject, type TextSource } from './text-source.ts';

type MutableObject = { [field: string]: JsonValue };

/** What a command line says, before names become ids. */
export interface RequestParts {
  readonly path: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, JsonValue>>;
  readonly body: JsonObject;
}

export async function requestParts(
  operation: OperationDescription,
  flags: readonly ApiFlag[],
  parsed: ParsedFlags,
  source: TextSource,
): Promise<RequestParts> {
  const query: Record<string, JsonValue> = {};
  const body: MutableObject = await fileBody(parsed, source);
  for (const flag of flags) {
    const given = parsed.values.get(flag.name);
    if (given === undefined) continue;
    if (flag.target.in === 'query') query[flag.target.name] = await flagValue(flag, given, source);
    if (flag.target.in === 'body') setField(body, flag.target.path, await flagValue(flag, given, source));
  }
  for (const assignment of parsed.values.get('set') ?? []) applyAssignment(body, assignment);
  return { path: pathValues(operation, flags, parsed), query, body };
}

export function requestOf(operation: OperationDescription, parts: RequestParts): ApiRequest {
  const path = fillPath(operation.path, parts.path);
  const hasBody = operation.body !== undefined && operation.body.parsing !== 'ignored';
  const { method } = operation;
  return { method, path: `${path}${queryString(parts.query)}`, ...(hasBody && { body: parts.body }) };
}

/** Positional arguments fill the path parameters that no flag gave, the last ones first. */
function pathValues(
  operation: OperationDescription,
  flags: readonly ApiFlag[],
  { values, positionals }: ParsedFlags,
): Readonly<Record<string, string>> {
  const result: Record<string, string> = {};
  const flagOf = (name: string): ApiFlag =>
    flags.find(({ target }) => target.in === 'path' && target.name === name) as ApiFlag;
  const missing = pathParameters(operation.path).filter((name) => {
    const [value] = values.get(flagOf(name).name) ?? [];
    if (value !== undefined) result[name] = value;
    return value === undefined;
  });
  if (positionals.length > missing.length) throw usage(tooMany(missing.length));
  const unnamed = missing.slice(missing.length - positionals.length);
  const given = {
    ...result,
    ...Object.fromEntries(unnamed.map((name, index) => [name, positionals[index] as string])),
  };
  if (isRouteByHost(operation, given)) return { ...given, edge_id: '' };
  const [first] = missing.filter((name) => !unnamed.includes(name));
  if (first !== undefined) throw usage(`--${flagOf(first).name} ${flagOf(first).hint} is required`);
  for (const [index, name] of unnamed.entries()) result[name] = positionals[index] as string;
  for (const [name, value] of Object.entries(result)) {
    if (/^\.{0,2}$/.test(value)) throw usage(`--${flagOf(name).name} ${flagOf(name).hint} is required`);
  }
  return result;
}

/** `app.example.com/admin` names the edge too. */
function isRouteByHost(
  { path }: OperationDescription,
  { edge_id: edge, id }: Readonly<Record<string, string>>,
): boolean {
  return path.startsWith(`${SITE_ROUTE.path}/{id}`) && edge === undefined && /^[^/]+\//.test(id ?? '');
}

function tooMany(expected: number): string {
  const taken = expected === 0 ? 'unexpected argument' : 'too many arguments';
  return `${taken}: write a value after its flag, and turn off a switch with --no-NAME`;
}

async function fileBody(parsed: ParsedFlags, source: TextSource): Promise<MutableObject> {
  const [file] = parsed.values.get('from-file') ?? [];
  if (file === undefined) return {};
  return { ...(await fileObject(file, source)) };
}

function applyAssignment(body: MutableObject, assignment: string): void {
  const at = assignment.indexOf('=');
  if (at <= 0) throw usage('--set takes FIELD=JSON, such as --set tls.enabled=true');
  setField(body, assignment.slice(0, at).split('.'), parseJson({ name: 'set' }, assignment.slice(at + 1)));
}

function setField(body: MutableObject, [name = '', ...rest]: readonly string[], value: JsonValue): void {
  if (rest.length === 0) {
    body[name] = value;
    return;
  }
  const current = body[name];
  const inner: MutableObject = { ...(isJsonObject(current) ? (current as JsonObject) : {}) };
  setField(inner, rest, value);
  body[name] = inner;
}
