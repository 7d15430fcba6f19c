import { hash } from 'node:crypto';
import type { JsonObject } from '../../kit/json.ts';
import type { ConfiguredBy } from '../../modules/contract/agent-form.ts';
import type { TlsPolicy } from '../../modules/contract/decides.ts';
import type { ModuleRuntime } from '../../modules/contract/keeps-state.ts';
import type { Module } from '../../modules/contract/module.ts';
import type { AddressLists, AskedClaims, PreparePorts, ReadsChildTables } from '../../modules/contract/prepare.ts';
import type { PreparedModule } from '../../modules/contract/prepared-module.ts';
import { moduleRecordId, moduleRecordKey, pathReaderOf } from '../../modules/module-config.ts';
import { type ModuleSettings, settingsOf } from '../../modules/module-settings.ts';
import { namesOf } from '../../modules/reserved-names.ts';
import type { BrowsableReader } from '../../store/replica/record-table.ts';
import type { StoredRecord } from '../../store/store.ts';
import { backendPathReader, type KindOfId, SharedBackends } from './compile-backend.ts';
import { TrackingReader } from './edge-dependencies.ts';
import {
  type AdmissionStep,
  EdgeCookieNames,
  type EdgeSnapshot,
  type ModuleProblem,
  type ModuleWith,
  type NamedModule,
  type RouteSnapshot,
} from './edge-snapshot.ts';
import { hostsOf } from './host-table.ts';
import { configDigest, configOf, type ModuleTables, type UnknownModule } from './module-tables.ts';
import { type AmbiguousPaths, RouteTable } from './route-table.ts';

const EDGE_KIND = 'https_edge';
const ROUTE_KIND = 'https_edge_route';
export const OWNER_KINDS = { edge: EDGE_KIND, route: ROUTE_KIND } as const;

const NO_SETTINGS: ModuleSettings = new Map();
const NO_LISTS: AddressLists = { of: () => ({ problem: 'lists are not loaded here' }) };

/** Definitions from the registries. */
export interface Definitions {
  readonly modules: readonly Module[];
  readonly kindOfId: KindOfId;
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
  /** Modules that this version does not know, on owners of this level. */
  readonly unknown: Readonly<Record<Module['level'], readonly UnknownModule[]>>;
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
  const record = reader.get(EDGE_KIND, edgeId);
  if (record === undefined) return null;
  const { tables } = definitions;
  const unknown = {
    edge: tables.unknownModules(EDGE_KIND, reader.kinds()),
    route: tables.unknownModules(ROUTE_KIND, reader.kinds()),
  };
  const context: EdgeContext = {
    definitions,
    reader,
    ports: recordPorts(reader, configuredBy, definitions),
    backends: definitions.backends ?? new SharedBackends(reader, definitions.kindOfId),
    unknown,
  };
  const own = prepareAll(context, { edgeId, routeId: null });
  // Complete when the last route is compiled; the routes share it.
  const ownCookieNames = new EdgeCookieNames(tables.isReservedCookie);
  const routes = reader.children(ROUTE_KIND, edgeId).map((route) => compileRoute(route, own, context, ownCookieNames));
  for (const { modules } of routes) {
    for (const { prepared } of modules) for (const name of prepared.ownCookieNames ?? []) ownCookieNames.add(name);
  }
  const hosts = hostsOf(record);
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
  };
}

function compileRoute(
  record: StoredRecord,
  edge: PreparedModules,
  context: EdgeContext,
  ownCookieNames: EdgeCookieNames,
): RouteSnapshot {
  const { tables, modules: registry } = context.definitions;
  const edgeId = record.parent ?? '';
  const prepared = prepareAll(context, { edgeId, routeId: record.id });
  const backendId = prepared.modules.find(hasHook('backendId'))?.prepared.backendId;
  const compiled = backendId === undefined ? { backend: null } : compileBackend(backendId, context);
  const own = 'problem' in compiled ? withProblem(prepared, compiled.problem) : prepared;
  const inOrder = [...edge.modules, ...own.modules].sort((a, b) => tables.position(a.name) - tables.position(b.name));
  const backend = 'backend' in compiled ? compiled.backend : null;
  return {
    id: record.id,
    edgeId,
    matchType: record.doc['match_type'] as RouteSnapshot['matchType'],
    match: record.doc['match'] as string,
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

function prepareAll(context: EdgeContext, place: PreparePorts['place']): PreparedModules {
  const { definitions, reader, ports, unknown } = context;
  const { tables, runtimes, moduleSettings = NO_SETTINGS } = definitions;
  const level = place.routeId === null ? 'edge' : 'route';
  const ownerId = place.routeId ?? place.edgeId;
  const modules: NamedModule[] = [];
  const problems: ModuleProblem[] = [];
  const access: string[] = [];
  let pathReader: string | null = null;
  const tls: TlsPolicy = {};
  const askedClaims = (): readonly AskedClaims[] =>
    tables.routeModules.flatMap(({ module, kind }) => {
      const record = module.askedClaims === undefined ? null : enabledRecord(reader, kind, ownerId, module.name);
      return record === null ? [] : (module.askedClaims?.(configOf(record)) ?? []);
    });
  for (const { module, kind } of level === 'edge' ? tables.edgeModules : tables.routeModules) {
    const record = enabledRecord(reader, kind, ownerId, module.name);
    if (record === null) continue;
    if (module.decidesAccess) access.push(`${module.name}:${configDigest(record)}`);
    pathReader ??= pathReaderOf(module, configOf(record));
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
  for (const { name, kind } of unknown[level]) {
    const record = enabledRecord(reader, kind, ownerId, name);
    if (record === null) continue;
    // The module may have been there to deny access.
    access.push(`${name}:${configDigest(record)}`);
    pathReader ??= name;
    const { problem, tls: demanded } = unknownModule(name, level);
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
function unknownModule(name: string, level: Module['level']): UnpreparedModule {
  const message = `the ${name} module was set by a later version of Postern, which this version cannot apply: start that version, or delete the ${level}`;
  return {
    problem: { module: name, code: 'ERR_POSTERN_MODULE_UNAVAILABLE', message },
    tls: level === 'edge' ? { clientAuthorities: [] } : {},
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
    const preparation = module.prepare(configOf(record) as never, ports);
    if (preparation.ok) return named(module, preparation.prepared);
    return { problem: { module: module.name, ...preparation.problem }, tls: preparation.tls ?? {} };
  } catch (error) {
    const message = `the ${module.name} module could not be prepared (${error instanceof Error ? error.message : 'unknown'})`;
    // Nobody knows what a broken edge module would have required of handshakes: none is accepted.
    const tls: TlsPolicy = module.level === 'edge' ? { clientAuthorities: [] } : {};
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
    reader.children(kind, parentId).map((record) => ({ id: record.id, doc: configOf(record) }));
  return {
    configuredBy,
    addressLists,
    record: (kind, id) => {
      const record = reader.get(kind, id);
      return record === undefined ? undefined : configOf(record);
    },
    children,
    childTable: childTable ?? madeOf(children),
  };
}

function madeOf(children: RecordPorts['children']): ReadsChildTables {
  return (table, parentId) =>
    children(table.kind, parentId).reduce((value, child) => table.changed(value, null, child), table.empty);
}

/** An edge with one host and one catch-all route, without stored records. */
export interface DetachedEdge {
  readonly id: string;
  readonly host: string;
  readonly isPlain: boolean;
  /** Decoded configuration of each of its modules except the backend. */
  readonly modules: ReadonlyMap<string, JsonObject>;
  /** Records that the modules refer to: policies, authorities. */
  readonly records: readonly DetachedRecord[];
  readonly backend: { readonly kind: string; readonly id: string; readonly config: JsonObject };
}

export interface DetachedRecord {
  readonly kind: string;
  readonly id: string;
  readonly parent: string | null;
  readonly doc: JsonObject;
}

/**
 * Compiled by the same code as stored edges, from records that exist only here. So every protection of an edge applies,
 * in the same order.
 */
export function compileDetached(edge: DetachedEdge, definitions: CompileDefinitions): EdgeSnapshot {
  const { backend } = edge;
  const kindOfId = (id: string): string | null => (id === backend.id ? backend.kind : definitions.kindOfId(id));
  const reader = new TrackingReader(new DetachedReader(recordsOf(edge, definitions.modules)));
  const snapshot = compileEdge(
    edge.id,
    reader,
    { ...definitions, kindOfId, childTable: undefined, backends: undefined },
    'agent',
  );
  if (snapshot === null) throw new Error(`${edge.id} was compiled from records without itself`);
  return edge.isPlain ? { ...snapshot, isPlain: true } : snapshot;
}

function recordsOf(edge: DetachedEdge, modules: readonly Module[]): readonly DetachedRecord[] {
  const { id, backend } = edge;
  const configs = new Map(edge.modules).set('backend', { enabled: true, backend_id: backend.id });
  const ofModules = modules.flatMap((module): readonly DetachedRecord[] => {
    const doc = configs.get(module.name);
    const ownerKind = module.level === 'edge' ? EDGE_KIND : ROUTE_KIND;
    return doc === undefined ? [] : [{ ...moduleRecordKey(ownerKind, id, module.name), parent: id, doc }];
  });
  return [
    { kind: EDGE_KIND, id, parent: null, doc: { hostports: [`${edge.host}:443`] } },
    { kind: ROUTE_KIND, id, parent: id, doc: { match_type: 'path_prefix', match: '/' } },
    { kind: backend.kind, id: backend.id, parent: null, doc: backend.config },
    ...ofModules,
    ...edge.records,
  ];
}

class DetachedReader implements BrowsableReader {
  readonly #records: readonly StoredRecord[];

  constructor(records: readonly DetachedRecord[]) {
    this.#records = records.map((record) => ({ ...record, revision: 0, secrets: null }));
  }

  kinds(): Iterable<string> {
    return this.#records.map(({ kind }) => kind);
  }

  get(kind: string, id: string): StoredRecord | undefined {
    return this.#records.find((record) => record.kind === kind && record.id === id);
  }

  page(kind: string): readonly StoredRecord[] {
    return this.#records.filter((record) => record.kind === kind);
  }

  pageOfParent(kind: string, parent: string): readonly StoredRecord[] {
    return this.#records.filter((record) => record.kind === kind && record.parent === parent);
  }
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
