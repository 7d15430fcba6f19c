import { hash } from 'node:crypto';
import type { EdgeKind } from '../../edges/edge-kind.ts';
import type { ConfiguredBy } from '../../modules/contract/agent-form.ts';
import type { TlsPolicy } from '../../modules/contract/decides.ts';
import type { ModuleRuntime } from '../../modules/contract/keeps-state.ts';
import type { Module } from '../../modules/contract/module.ts';
import type { AddressLists, AskedClaims, PreparePorts, ReadsChildTables } from '../../modules/contract/prepare.ts';
import type { PreparedModule } from '../../modules/contract/prepared-module.ts';
import { moduleRecordId, pathReaderOf } from '../../modules/module-config.ts';
import { type ModuleSettings, settingsOf } from '../../modules/module-settings.ts';
import { namesOf } from '../../modules/reserved-names.ts';
import type { StoredRecord } from '../../store/store.ts';
import { backendPathReader, type KindOfId, SharedBackends } from './compile-backend.ts';
import type { TrackingReader } from './edge-dependencies.ts';
import {
  type AdmissionStep,
  EdgeCookieNames,
  type EdgeSnapshot,
  type ModuleProblem,
  type ModuleWith,
  type NamedModule,
  type RouteSnapshot,
} from './edge-snapshot.ts';
import { type KindsOfEdges, type OwnerKind, ownersOf } from './kinds-of-edges.ts';
import { configDigest, type ModuleTables, moduleConfig, type UnknownModule, withSecrets } from './module-tables.ts';
import { type AmbiguousPaths, RouteTable } from './route-table.ts';

const NO_SETTINGS: ModuleSettings = new Map();
const NO_LISTS: AddressLists = { of: () => ({ problem: 'lists are not loaded here' }) };

/** Definitions from the registries. */
export interface Definitions {
  readonly modules: readonly Module[];
  readonly kindOfId: KindOfId;
  /** Absent: all that are registered. */
  readonly edgeKinds?: readonly EdgeKind[];
  /** By module; empty where nothing is served. */
  readonly runtimes?: ReadonlyMap<string, ModuleRuntime>;
  /** Absent: the defaults. */
  readonly moduleSettings?: ModuleSettings;
  /** Absent: no list of addresses is loaded. */
  readonly addressLists?: AddressLists;
  /** Absent: ambiguous paths are rejected on every host. */
  readonly ambiguousPaths?: AmbiguousPaths;
}

/** Definitions with the tables that `Snapshots` makes of them once. */
export interface CompileDefinitions extends Definitions {
  readonly tables: ModuleTables;
  readonly kinds: KindsOfEdges;
  /** Absent: they are made of what the reader has, for each edge. */
  readonly childTable?: ReadsChildTables | undefined;
  /** Absent: they are compiled from what the reader has, for each edge. */
  readonly backends?: SharedBackends | undefined;
}

/** What the compilation of an edge and its routes shares. */
interface EdgeContext {
  readonly definitions: CompileDefinitions;
  readonly reader: TrackingReader;
  readonly ports: RecordPorts;
  readonly backends: SharedBackends;
  /** Modules that this version does not know, by the kind of their owners. */
  readonly unknown: ReadonlyMap<string, readonly UnknownModule[]>;
}

/** The ports of a module that are the same for the whole edge. */
type RecordPorts = Pick<PreparePorts, 'record' | 'children' | 'childTable' | 'configuredBy' | 'addressLists'>;

interface PreparedModules {
  readonly modules: readonly NamedModule[];
  readonly problems: readonly ModuleProblem[];
  /** Name and configuration of the access modules, as digests, including those that cannot be prepared. */
  readonly access: readonly string[];
  /** What reads paths, first in the order of traffic; null: nothing. */
  readonly pathReader: string | null;
  /** Requirements for handshakes, including those of modules that cannot be prepared. */
  readonly tls: TlsPolicy;
}

const NO_MODULES: PreparedModules = { modules: [], problems: [], access: [], pathReader: null, tls: {} };

interface UnpreparedModule {
  readonly problem: ModuleProblem;
  readonly tls: TlsPolicy;
}

/** Compiles an edge's records for traffic. Null when the edge was deleted. */
export function compileEdge(
  edgeId: string,
  reader: TrackingReader,
  definitions: CompileDefinitions,
  configuredBy: ConfiguredBy,
): EdgeSnapshot | null {
  const { tables, kinds } = definitions;
  const found = kinds.find(reader, edgeId);
  if (found === undefined) return null;
  const { kind, record } = found;
  const context: EdgeContext = {
    definitions,
    reader,
    ports: recordPorts(reader, configuredBy, definitions),
    backends: definitions.backends ?? new SharedBackends(reader, definitions.kindOfId),
    unknown: new Map(ownersOf(kind).map((each) => [each.kind, tables.unknownModules(each.kind, reader.kinds())])),
  };
  const [owner, ofRoutes] = ownersOf(kind);
  const own = prepareAll(context, owner, { kind: record.kind, edgeId, routeId: null });
  // Complete when the last route is compiled; the routes share it.
  const ownCookieNames = new EdgeCookieNames(tables.isReservedCookie);
  const records = ofRoutes === undefined ? [] : reader.children(ofRoutes.kind, edgeId);
  const routes = records.map((route) => compileRoute(route, ofRoutes ?? owner, own, { context, ownCookieNames }));
  for (const { modules } of routes) {
    for (const { prepared } of modules) for (const name of prepared.ownCookieNames ?? []) ownCookieNames.add(name);
  }
  const hosts = kinds.hostsOf(record);
  const { tls } = own;
  const problem = own.problems[0] ?? null;
  return {
    id: edgeId,
    hosts,
    tls,
    tlsGeneration: hash('sha256', JSON.stringify([tls, problem])),
    routes: new RouteTable(routes, hosts, definitions.ambiguousPaths),
    problem,
    problems: own.problems,
    ownPathRoutes: routes.filter((route) => route.problem === null && route.modules.some(hasHook('ownPaths'))),
    secretPaths: tables.secretPaths,
    ...(kind.routes === null && { connection: compileConnection(edgeId, own, context, ownCookieNames) }),
  };
}

function compileRoute(
  record: StoredRecord,
  owner: OwnerKind,
  edge: PreparedModules,
  { context, ownCookieNames }: Pick<RouteParts, 'context' | 'ownCookieNames'>,
): RouteSnapshot {
  const edgeId = record.parent ?? '';
  const prepared = prepareAll(context, owner, { kind: record.kind, edgeId, routeId: record.id });
  const matchType = record.doc['match_type'] as RouteSnapshot['matchType'];
  const match = record.doc['match'] as string;
  return assembleRoute({ id: record.id, edgeId, matchType, match }, { edge, prepared, context, ownCookieNames });
}

/** What decides about the connections of an edge without routes, and where they go: as a route for everything. */
function compileConnection(
  edgeId: string,
  own: PreparedModules,
  context: EdgeContext,
  ownCookieNames: EdgeCookieNames,
): RouteSnapshot {
  const place = { id: edgeId, edgeId, matchType: 'path_prefix', match: '/' } as const;
  return assembleRoute(place, { edge: NO_MODULES, prepared: own, context, ownCookieNames });
}

interface RouteParts {
  /** The modules of its edge. */
  readonly edge: PreparedModules;
  readonly prepared: PreparedModules;
  readonly context: EdgeContext;
  readonly ownCookieNames: EdgeCookieNames;
}

function assembleRoute(
  place: Pick<RouteSnapshot, 'id' | 'edgeId' | 'matchType' | 'match'>,
  { edge, prepared, context, ownCookieNames }: RouteParts,
): RouteSnapshot {
  const { tables, modules: registry } = context.definitions;
  const backendId = prepared.modules.find(hasHook('backendId'))?.prepared.backendId;
  const compiled = backendId === undefined ? { backend: null } : compileBackend(backendId, context);
  const own = 'problem' in compiled ? withProblem(prepared, compiled.problem) : prepared;
  const inOrder = [...edge.modules, ...own.modules].sort((a, b) => tables.position(a.name) - tables.position(b.name));
  const backend = 'backend' in compiled ? compiled.backend : null;
  return {
    ...place,
    access: own.access.length === 0 ? '' : hash('sha256', own.access.join(' '), 'base64url'),
    pathReader: edge.pathReader ?? own.pathReader ?? (backend === null ? null : backendPathReader(backend)),
    modules: inOrder,
    ...admissionSteps(inOrder, registry),
    requestChangers: inOrder
      .filter(hasHook('transformRequest'))
      .map((module) => ({ ...module, isForeignHeader: tables.foreignHeadersOf(module.name) })),
    responseChangers: inOrder.filter(hasHook('transform')).reverse(),
    outcomeListeners: inOrder.filter(hasHook('settled')),
    problem: edge.problems[0] ?? own.problems[0] ?? null,
    problems: own.problems,
    backend,
    ownCookieNames,
  };
}

/** The edge depends on the backend of its route alone, which changes with all that it leads to. */
function compileBackend(id: string, { reader, backends }: EdgeContext): ReturnType<SharedBackends['compile']> {
  reader.dependencies.add(id);
  return backends.compile(id);
}

function withProblem(prepared: PreparedModules, message: string): PreparedModules {
  const problem = { module: 'backend', code: 'ERR_POSTERN_MODULE_UNAVAILABLE', message } as const;
  return { ...prepared, problems: [...prepared.problems, problem] };
}

function prepareAll(context: EdgeContext, owner: OwnerKind, place: PreparePorts['place']): PreparedModules {
  const { definitions, reader, ports, unknown } = context;
  const { tables, runtimes, moduleSettings = NO_SETTINGS } = definitions;
  const ownerId = place.routeId ?? place.edgeId;
  const modules: NamedModule[] = [];
  const problems: ModuleProblem[] = [];
  const access: string[] = [];
  let pathReader: string | null = null;
  const tls: TlsPolicy = {};
  const askedClaims = (): readonly AskedClaims[] =>
    tables.on(owner.kind).flatMap(({ module, kind }) => {
      const record = module.askedClaims === undefined ? null : enabledRecord(reader, kind, ownerId, module.name);
      return record === null ? [] : (module.askedClaims?.(moduleConfig(module, record)) ?? []);
    });
  for (const { module, kind } of tables.on(owner.kind)) {
    const record = enabledRecord(reader, kind, ownerId, module.name);
    if (record === null) continue;
    if (module.decidesAccess) access.push(`${module.name}:${configDigest(record, module)}`);
    pathReader ??= pathReaderOf(module, moduleConfig(module, record));
    const settings = settingsOf(moduleSettings, module);
    const runtime = runtimes?.get(module.name) ?? null;
    const preparation = prepareOne(module, record, { ...ports, place, settings, runtime, askedClaims });
    if ('prepared' in preparation) {
      modules.push(preparation);
      Object.assign(tls, preparation.prepared.tls);
    } else {
      problems.push(preparation.problem);
      Object.assign(tls, preparation.tls);
    }
  }
  const logins = tables.logins.filter(({ name }) => modules.some((each) => each.name === name));
  if (logins.length > 1) problems.push(severalLogins(logins));
  for (const { name, kind } of unknown.get(owner.kind) ?? []) {
    const record = enabledRecord(reader, kind, ownerId, name);
    if (record === null) continue;
    // The module may have been there to deny access.
    access.push(`${name}:${configDigest(record)}`);
    pathReader ??= name;
    const { problem, tls: demanded } = unknownModule(name, owner, place);
    problems.push(problem);
    Object.assign(tls, demanded);
  }
  return { modules, problems, access, pathReader, tls };
}

function enabledRecord(reader: TrackingReader, kind: string, ownerId: string, name: string): StoredRecord | null {
  const record = reader.getModule(kind, moduleRecordId(ownerId, name));
  return record === undefined || record.doc['enabled'] === false ? null : record;
}

/** A module that cannot be applied rejects traffic: it may have been there to deny access. */
function unknownModule(name: string, { passes }: OwnerKind, { routeId }: PreparePorts['place']): UnpreparedModule {
  const level = routeId === null ? 'edge' : 'route';
  const message = `the ${name} module was set by a later version of Postern, which this version cannot apply: start that version, or delete the ${level}`;
  return {
    problem: { module: name, code: 'ERR_POSTERN_MODULE_UNAVAILABLE', message },
    tls: passes.includes('handshakes') ? { clientAuthorities: [] } : {},
  };
}

/**
 * The API accepts one; two servers of different versions could still have written two. Nobody knows which was meant.
 */
function severalLogins(logins: readonly Module[]): ModuleProblem {
  const names = logins.map(({ name }) => name).join(' and ');
  const message = `the route has more than one login module (${names}): delete or disable all but one`;
  return { module: logins[1]?.name ?? '', code: 'ERR_POSTERN_MODULE_UNAVAILABLE', message };
}

/** A module that throws is broken, and a broken module rejects traffic. */
function prepareOne(module: Module, record: StoredRecord, ports: PreparePorts): NamedModule | UnpreparedModule {
  try {
    const preparation = module.prepare(moduleConfig(module, record) as never, ports);
    if (preparation.ok) return named(module, preparation.prepared);
    return { problem: { module: module.name, ...preparation.problem }, tls: preparation.tls ?? {} };
  } catch (error) {
    const message = `the ${module.name} module could not be prepared (${error instanceof Error ? error.message : 'unknown'})`;
    // Nobody knows what a broken edge module would have required of handshakes: none is accepted.
    const tls: TlsPolicy = module.on.includes('handshakes') ? { clientAuthorities: [] } : {};
    return { problem: { module: module.name, code: 'ERR_POSTERN_MODULE_UNAVAILABLE', message }, tls };
  }
}

function named(module: Module, prepared: PreparedModule): NamedModule {
  const { name } = module;
  const ownPaths = prepared.ownPaths === undefined ? [] : namesOf(module, 'ownPaths');
  return ownPaths.length === 0 ? { name, prepared } : { name, prepared, ownPaths };
}

function recordPorts(
  reader: TrackingReader,
  configuredBy: ConfiguredBy,
  { addressLists = NO_LISTS, childTable }: CompileDefinitions,
): RecordPorts {
  const children: RecordPorts['children'] = (kind, parentId) =>
    reader.children(kind, parentId).map((record) => ({ id: record.id, doc: withSecrets(record) }));
  return {
    configuredBy,
    addressLists,
    record: (kind, id) => {
      const record = reader.get(kind, id);
      return record === undefined ? undefined : withSecrets(record);
    },
    children,
    childTable: childTable ?? madeOf(children),
  };
}

function madeOf(children: RecordPorts['children']): ReadsChildTables {
  return (table, parentId) =>
    children(table.kind, parentId).reduce((value, child) => table.changed(value, null, child), table.empty);
}

/** Selects the modules that have a hook: nothing stands in for a missing one. */
function hasHook<Hook extends keyof PreparedModule>(hook: Hook): (module: NamedModule) => module is ModuleWith<Hook> {
  return (module): module is ModuleWith<Hook> => module.prepared[hook] !== undefined;
}

/**
 * The questions that a request must pass, from its modules in the order of traffic. Modules that recognize a requester
 * without a login are asked before the first login module: a program with a token must not be sent to a login page. A
 * module with a later decision is asked once more, after the module that it names.
 */
export function admissionSteps(inOrder: readonly NamedModule[], registry: readonly Module[]): AdmissionSteps {
  const steps = allSteps(inOrder, registry);
  const hasEffects = steps.some(({ admit }) => admit !== undefined);
  const access = steps.filter(({ decidesAccess }) => decidesAccess);
  return {
    steps,
    entrySteps: hasEffects ? steps.map(entry) : steps,
    accessSteps: access.length === steps.length ? steps : access,
  };
}

/** The lists of a route: `entrySteps` has the same places as `steps`. */
type AdmissionSteps = Pick<RouteSnapshot, 'steps' | 'entrySteps' | 'accessSteps'>;

function allSteps(inOrder: readonly NamedModule[], registry: readonly Module[]): readonly AdmissionStep[] {
  const isLogin = (name: string): boolean => registry.some((module) => module.name === name && module.isLogin === true);
  const decidesAccess = (name: string): boolean =>
    registry.some((module) => module.name === name && module.decidesAccess);
  const recognizing = inOrder.filter(recognizes).map(recognition);
  const steps: AdmissionStep[] = [];
  const later = laterSteps(inOrder, registry);
  let areRecognizingAsked = false;
  for (const module of inOrder) {
    const place = registry.findIndex(({ name }) => name === module.name);
    while ((later[0]?.after ?? Number.POSITIVE_INFINITY) < place)
      steps.push(...later.splice(0, 1).map(({ step }) => step));
    if (!areRecognizingAsked && (recognizes(module) || isLogin(module.name))) {
      steps.push(...recognizing);
      areRecognizingAsked = true;
    }
    if (admits(module) && !decides(module)) throw new Error(`the ${module.name} module admits without judging`);
    if (decides(module)) {
      const { name } = module;
      steps.push(decision(module, { grantsPermit: isLogin(name), decidesAccess: decidesAccess(name) }));
    }
  }
  return [...steps, ...later.map(({ step }) => step)];
}

interface LaterStep {
  /** The place in the registry after which it is asked. */
  readonly after: number;
  readonly step: AdmissionStep;
}

/** In the order in which they are asked. */
function laterSteps(inOrder: readonly NamedModule[], registry: readonly Module[]): LaterStep[] {
  const steps = inOrder.filter(decidesLater).map(({ name, prepared: { later } }) => {
    const own = registry.findIndex((module) => module.name === name);
    const { judgesAgainAfter, decidesAccess = false } = registry[own] ?? {};
    const after = registry.findIndex((module) => module.name === judgesAgainAfter);
    if (after < own || after === -1) throw new Error(`the ${name} module declares no later place to judge at`);
    const facts = { grantsPermit: false, decidesAccess };
    return { after, step: { ...decision({ name, prepared: later }, facts), isLater: true } as const };
  });
  return steps.sort((a, b) => a.after - b.after);
}

// A step exists only with its hook: there is no verdict for a missing one.
const recognizes = hasHook('identify');
const decides = hasHook('judge');
const assumes = hasHook('assume');
const admits = hasHook('admit');
const decidesLater = hasHook('later');

function recognition({ name, prepared }: ModuleWith<'identify'>): AdmissionStep {
  return { module: name, grantsPermit: true, decidesAccess: true, ask: (request) => prepared.identify(request) };
}

function decision(
  module: ModuleWith<'judge'>,
  facts: Pick<AdmissionStep, 'grantsPermit' | 'decidesAccess'>,
): AdmissionStep {
  const { name, prepared } = module;
  return {
    module: name,
    ...facts,
    ask: (request) => prepared.judge(request),
    ...(assumes(module) && { assume: (request, person) => module.prepared.assume(request, person) }),
    ...(admits(module) && { admit: (request) => module.prepared.admit(request) }),
  };
}

function entry(step: AdmissionStep): AdmissionStep {
  return step.admit === undefined ? step : { ...step, ask: step.admit };
}
