import type { TObject } from 'typebox';
import { isJsonObject, type JsonObject, type JsonValue } from '../../kit/json.ts';
import { type BodyDecoder, isEmpty } from '../../kit/schema/decode-body.ts';
import { type FieldProblem, pointerTo } from '../../kit/schema/field-problem.ts';
import type { OtherNames } from '../../kit/schema/other-names.ts';
import { moduleProblems, normalized, sealed } from '../../modules/module-config.ts';
import { settingsOf } from '../../modules/module-settings.ts';
import type { RecordReader } from '../../store/replica/record-table.ts';
import type { Expectation, RecordKey, StoredRecord } from '../../store/store.ts';
import { resourceErrors } from '../resources/errors.ts';
import type { OperationBody, OperationRequest, OperationResult, Principal } from '../resources/operation.ts';
import type { RecordChange } from '../resources/ports.ts';
import { MAX_METADATA_BYTES, type ResourceSettings } from '../resources/resource.ts';
import { canReadSecrets } from '../resources/scopes.ts';
import type { CompiledModule, CompiledResource } from './catalog.ts';
import type { DocumentsContext } from './documents-context.ts';
import { documentErrors, invalidBody } from './errors.ts';
import type { ModuleParts } from './record-puts.ts';
import { documentsOf, highestRevision } from './renderer.ts';
import { secondLogin } from './route-logins.ts';
import { keepUnseenSecrets, maskProblems, withoutMasks } from './secret-fields.ts';

/**
 * Removes what generated clients add: path parameters repeated in the body, and a module wrapped as `{"module": …}`.
 */
export function withoutAddedFields(
  body: OperationBody,
  parsed: JsonObject,
  params: Readonly<Record<string, string>>,
): JsonObject {
  const own = (body.schema as TObject).properties ?? {};
  const rest = Object.entries(parsed).filter(([name, value]) => {
    if (!Object.hasOwn(params, name) || Object.hasOwn(own, name)) return true;
    if (value === params[name] || value === null) return false;
    throw invalidBody([
      { path: `/${name}`, message: `must be the same as in the path ("${params[name]}"), or omitted` },
    ]);
  });
  const [first] = rest;
  if (body.canBeWrapped === true && rest.length === 1 && first?.[0] === 'module') {
    const inside = first[1] ?? {};
    if (isJsonObject(inside)) return inside;
  }
  return Object.fromEntries(rest);
}

const ID_PATTERN = /^[a-z]+_[0-9A-Za-z]{27}$/;

/**
 * A malformed id, or one with another resource's prefix, matches nothing: 404, without sending odd bytes to a database.
 */
export function checkIds(params: Readonly<Record<string, string>>): void {
  for (const name in params) {
    if (name === 'type' || name === 'revision') continue;
    const value = params[name] as string;
    if (!ID_PATTERN.test(value)) {
      throw resourceErrors.create(
        'ERR_POSTERN_NOT_FOUND',
        `"${value.slice(0, 64)}" is not an id: an id is a prefix, "_" and 27 letters and digits`,
      );
    }
  }
}

interface DecodedWrite {
  /** The fields set by the body; with defaults on create, only the named ones on patch. */
  readonly config: JsonObject;
  readonly modules: ReadonlyMap<CompiledModule, JsonObject>;
}

/** Decodes a create or patch of a resource, including inline modules. Throws all problems at once. */
export function decodeWrite(
  compiled: CompiledResource,
  body: JsonObject,
  form: 'create' | 'patch',
  settings: ResourceSettings,
): DecodedWrite {
  const problems: FieldProblem[] = [];
  const modules = new Map<CompiledModule, JsonObject>();
  const renamed = withOwnNames(body, compiled.resource.otherNames ?? {}, problems);
  const own: Record<string, JsonValue> = { ...withoutMasks(renamed, compiled.secretFields) };
  for (const compiledModule of compiled.modules) {
    const { name } = compiledModule.module;
    const value = own[name];
    delete own[name];
    // Clients in Rust, .NET and Scala send every field that is not set as null: only DELETE removes a module.
    if (value === undefined || value === null) continue;
    const decoded = decodeInlineModule(compiledModule, value, settings);
    if (Array.isArray(decoded)) problems.push(...decoded);
    else modules.set(compiledModule, decoded as JsonObject);
  }
  problems.push(...secondLogin(modules));
  const config = decodeWith(
    form === 'create' ? compiled.create : compiled.patch,
    own,
    problems,
    immutableNames(compiled, form),
  );
  if (problems.length > 0) throw invalidBody(problems);
  return { config, modules };
}

/** Decodes the body of a module's PUT. */
export function decodeModule(module: CompiledModule, body: JsonObject, settings: ResourceSettings): JsonObject {
  const problems: FieldProblem[] = [];
  const config = moduleConfig(module, body, settings, problems);
  if (problems.length > 0) throw invalidBody(problems);
  return config;
}

/** What is stored of a decoded module: hashes in place of secrets. Throws MissingPart. */
export function sealedConfig(
  { module }: CompiledModule,
  { config, at }: SealedPart,
  stored: JsonObject | null,
): JsonObject {
  const result = sealed(module, config, { stored, seed: null });
  if ('config' in result) return result.config;
  throw invalidBody(result.problems.map((problem) => ({ ...problem, path: `${at}${problem.path}` })));
}

type SealedPart = Pick<ModuleParts, 'config' | 'at'>;

/** The rules that concern a whole configuration, for a create and for the result of a patch. */
export function checkConfig(compiled: CompiledResource, config: JsonObject, settings: ResourceSettings): JsonObject {
  const normalized = (compiled.resource.normalize?.(config as never) ?? config) as JsonObject;
  const problems = [
    ...maskProblems(normalized, compiled.secretFields),
    ...(compiled.resource.check?.(normalized as never, settings) ?? []),
  ];
  const metadata = normalized['metadata'];
  if (typeof metadata === 'string' && Buffer.byteLength(metadata) > MAX_METADATA_BYTES) {
    problems.push({ path: '/metadata', message: `must have at most ${MAX_METADATA_BYTES} bytes in UTF-8` });
  }
  if (problems.length > 0) throw invalidBody(problems);
  return normalized;
}

/** A module inside another body: the problems name its place there. */
export function decodeInlineModule(
  module: CompiledModule,
  value: JsonValue,
  settings: ResourceSettings,
): JsonObject | FieldProblem[] {
  const at = pointerTo('', module.module.name);
  if (!isJsonObject(value)) return [{ path: at, message: 'must be an object or omitted' }];
  const problems: FieldProblem[] = [];
  const config = moduleConfig(module, value, settings, problems);
  return problems.length === 0 ? config : problems.map((problem) => ({ ...problem, path: `${at}${problem.path}` }));
}

function moduleConfig(
  module: CompiledModule,
  body: JsonObject,
  settings: ResourceSettings,
  problems: FieldProblem[],
): JsonObject {
  const config = decodeWith(
    module.create,
    withoutReadOnly(module, withoutMasks(body, module.secretFields)),
    problems,
    [],
  );
  if (problems.length > 0) return config;
  const context = { settings: settingsOf(settings.moduleSettings, module.module) };
  problems.push(...moduleProblems(module.module, config, context));
  return problems.length === 0 ? normalized(module.module, config) : config;
}

/** Constant fields may be sent back as they were read, and live fields may have changed since. */
function withoutReadOnly({ module }: CompiledModule, body: JsonObject): JsonObject {
  const constants = module.constants?.values ?? {};
  const live = module.live?.schema ?? {};
  return Object.fromEntries(
    Object.entries(body).filter(
      ([name, value]) => !Object.hasOwn(live, name) && !(Object.hasOwn(constants, name) && constants[name] === value),
    ),
  );
}

function immutableNames(compiled: CompiledResource, form: 'create' | 'patch'): readonly string[] {
  return form === 'patch' ? (compiled.resource.immutable ?? []) : [];
}

function decodeWith(
  decoder: BodyDecoder,
  body: JsonObject,
  problems: FieldProblem[],
  immutable: readonly string[],
): JsonObject {
  const decoded = decoder.decode(body);
  if (decoded.ok) return decoded.value;
  for (const problem of decoded.problems) {
    const isImmutable = immutable.includes(problem.path.slice(1));
    problems.push(
      isImmutable ? { ...problem, message: 'cannot be changed: delete the resource and create another' } : problem,
    );
  }
  return {};
}

/**
 * The configuration after a change: includes the secrets that the caller could not see, and passes the rules for whole
 * configurations and for changes.
 */
export function changedConfig(
  compiled: CompiledResource,
  { config: next, clearedSecrets }: RecordChange,
  previous: JsonObject,
  { principal, settings }: { readonly principal: Principal; readonly settings: ResourceSettings },
): JsonObject {
  const kept = keepUnseenSecrets(next ?? previous, previous, compiled.secretFields, {
    canReadSecrets: canReadSecrets(principal),
    clearedSecrets,
  });
  const config = checkConfig(compiled, kept, settings);
  const refused = compiled.resource.checkChange?.(config as never, previous as never) ?? [];
  if (refused.length > 0) throw invalidBody(refused);
  return config;
}

/** What the resource computes after a change: read-only fields, and configuration that it reads elsewhere. */
export function changedByResource(
  { resource }: CompiledResource,
  config: JsonObject,
  previous: JsonObject,
  { settings, nowMs }: { readonly settings: ResourceSettings; readonly nowMs: number },
): { readonly config: JsonObject; readonly derived: JsonObject } {
  const change = resource.onChange?.(config as never, previous as never, settings, nowMs) ?? {};
  if ('problems' in change) throw invalidBody(change.problems);
  return { config: { ...config, ...change.config }, derived: change.derived ?? {} };
}

/** The body with the canonical field names. An alias sent beside its field must have the same value. */
function withOwnNames(
  body: JsonObject,
  { aliases = {}, ignoredIfEmpty = [], retired = {} }: OtherNames,
  problems: FieldProblem[],
): JsonObject {
  const result: Record<string, JsonValue> = { ...body };
  for (const name of ignoredIfEmpty) if (name in result && isUnset(result[name])) delete result[name];
  for (const [name, instead] of Object.entries(retired)) {
    if (!isUnset(result[name])) problems.push({ path: pointerTo('', name), message: `is not available: ${instead}` });
    delete result[name];
  }
  for (const [alias, field] of Object.entries(aliases)) {
    const value = result[alias];
    if (value === undefined) continue;
    delete result[alias];
    if (isUnset(result[field])) result[field] = value;
    else if (!isUnset(value) && value !== result[field])
      problems.push({ path: pointerTo('', alias), message: `is an alias of "${field}" and has a different value` });
  }
  return result;
}

/** The body of a PATCH as a client of the retired service meant it. */
export function legacyPatchBody(body: JsonObject, { leftOutIfEmptyOnPatch = [] }: OtherNames): JsonObject {
  return Object.fromEntries(
    Object.entries(body).filter(([name, value]) => !(leftOutIfEmptyOnPatch.includes(name) && isEmpty(value))),
  );
}

function isUnset(value: JsonValue | undefined): boolean {
  return value === undefined || value === null || isEmpty(value);
}

type Conditions = Pick<OperationRequest, 'ifMatch' | 'ifNoneMatch'>;

/**
 * `If-Match` on a resource: its ETag must be listed, and every document behind the ETag must still be in the store when
 * the write is applied. `If-None-Match`: it must not be listed. Returns the expectations; throws 412.
 */
export function expectMatch(
  { ifMatch, ifNoneMatch }: Conditions,
  compiled: CompiledResource,
  record: StoredRecord,
  reader: RecordReader,
): readonly Expectation[] {
  if (ifNoneMatch !== null && isListed(ifNoneMatch, highestRevision(compiled, record, reader))) throw alreadyThere();
  if (ifMatch === null || ifMatch === 'any') return [];
  if (!isListed(ifMatch, highestRevision(compiled, record, reader))) throw preconditionFailed();
  return documentsOf(compiled, record, reader).map((document) => ({
    kind: document.kind,
    id: document.id,
    revision: document.record?.revision ?? 'absent',
  }));
}

/** The same for a module, which is one document. `*` requires that it exists; in `If-None-Match`, that it does not. */
export function expectModuleMatch(
  { ifMatch, ifNoneMatch }: Conditions,
  key: RecordKey,
  record: StoredRecord | undefined,
): readonly Expectation[] {
  if (ifNoneMatch !== null && record !== undefined && isListed(ifNoneMatch, record.revision)) throw alreadyThere();
  if (ifMatch !== null && (record === undefined || !isListed(ifMatch, record.revision))) throw preconditionFailed();
  return ifMatch === null && ifNoneMatch === null ? [] : [{ ...key, revision: record?.revision ?? 'absent' }];
}

function isListed(listed: readonly number[] | 'any', revision: number): boolean {
  return listed === 'any' || listed.includes(revision);
}

function preconditionFailed(): Error {
  return documentErrors.create(
    'ERR_POSTERN_PRECONDITION_FAILED',
    'the resource has changed since the ETag in If-Match was read: read it again, then repeat the change with the new ETag',
  );
}

function alreadyThere(): Error {
  return documentErrors.create(
    'ERR_POSTERN_PRECONDITION_FAILED',
    'the resource exists with an ETag that If-None-Match excludes (* excludes every one): nothing was changed. Read it, or send the request without If-None-Match',
  );
}

export function asSeen({ kind, id, revision }: StoredRecord): Expectation {
  return { kind, id, revision };
}

/**
 * The response bodies have a fixed set of fields, so a problem of an edge, a route or a module is reported in a header.
 */
const PROBLEM_HEADER = 'postern-problem';
/** Traffic is served, but not as configured, such as with a certificate that clients do not trust. */
const WARNING_HEADER = 'postern-warning';

export function withProblem(
  result: OperationResult,
  recordId: string,
  { problemOf }: Pick<DocumentsContext, 'problemOf'>,
): OperationResult {
  const problem = problemOf(recordId);
  return problem === undefined ? result : { ...result, headers: { ...result.headers, [PROBLEM_HEADER]: problem } };
}

export function withWarning(
  result: OperationResult,
  record: StoredRecord,
  context: Pick<DocumentsContext, 'warningOf'>,
): OperationResult {
  const warning = context.warningOf(record);
  return warning === undefined ? result : { ...result, headers: { ...result.headers, [WARNING_HEADER]: warning } };
}
