import type { JsonObject } from '../../src/lib/json.ts';
import type { DocumentChange, Ledger } from './ledger.ts';
import { BACKEND_KINDS, BASE_URL, idsOf, type ModuleWrite, moduleWrite, refTo } from './module-writes.ts';
import type { Random } from './random.ts';
import { COLLECTIONS, idIn, keyOf, kindIn } from './rendered-documents.ts';

/** One request, and what it does if it is applied. */
export interface PlannedWrite {
  readonly method: 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly body?: JsonObject;
  /** The `description` of what it creates; null when it creates nothing. */
  readonly marker: string | null;
  readonly changes: readonly DocumentChange[];
  /** Error codes for what others may have made impossible meanwhile. */
  readonly refusals: readonly string[];
  /** Edge, backend, policy or subscription that the write belongs to; null for what is yet to be. */
  readonly root: string | null;
}

export interface Workload {
  readonly writer: string;
  readonly ledger: Ledger;
  readonly random: Random;
  /** Roots with an unanswered write. */
  readonly open: ReadonlySet<string>;
  newMarker(): string;
}

const EDGE_MODULES = ['mutual_tls', 'tls_termination'];
const ROUTE_MODULES = ['oidc', 'backend', 'compression', 'ip_restriction'];
/** Few, so that writers race for them. */
const CONTESTED_HOSTS = 6;
const MOST_OF_A_KIND = 6;
/** All three kinds of change of a few nouns: additional subscriptions never take away what the first one asks for. */
const SOURCES = ['https_edge_created.v0', 'ip_policy_deleted.v0', 'backend_updated.v0', 'tunnel_start.v0'];
/** A reference that went away meanwhile. */
const REFERENCE_GONE = ['ERR_POSTERN_UNKNOWN_REFERENCE'];
const STILL_IN_USE = ['ERR_POSTERN_IN_USE'];

type Plan = (workload: Workload) => PlannedWrite | null;

const PLANS: readonly Plan[] = [
  createEdge,
  patchEdge,
  putEdgeModule,
  deleteEdgeModule,
  createRoute,
  createRoute,
  patchRoute,
  putRouteModule,
  putRouteModule,
  putRouteModule,
  deleteRouteModule,
  deleteRoute,
  createBackend,
  createBackend,
  patchBackend,
  createPolicy,
  createRule,
  createRule,
  patchRule,
  deleteRule,
  createSubscription,
  patchSubscription,
  addOrRemoveSource,
  deleteRoot,
  deleteRoot,
];

/** The writer's next request. */
export function planWrite(workload: Workload): PlannedWrite {
  for (let tries = 0; tries < 100; tries += 1) {
    const plan = workload.random.pick(PLANS)?.(workload);
    if (plan !== null && plan !== undefined) return plan;
  }
  return newBackend('static_backend', workload);
}

function createEdge(workload: Workload): PlannedWrite | null {
  const { random, writer } = workload;
  if (owned(workload, ['https_edge']).length >= MOST_OF_A_KIND) return null;
  const marker = workload.newMarker();
  const host = random.isChosen(0.2)
    ? `contested-${random.below(CONTESTED_HOSTS)}.example.com:443`
    : `${random.text(8)}.${writer}.example.com:443`;
  const own = { description: marker, metadata: random.text(30), hostports: [host] };
  return create('https_edge', '/edges/https', own, own, inline(EDGE_MODULES, workload), {
    marker,
    refusals: [...REFERENCE_GONE, 'ERR_POSTERN_ALREADY_EXISTS'],
  });
}

function patchEdge(workload: Workload): PlannedWrite | null {
  const id = workload.random.pick(owned(workload, ['https_edge']));
  return id === undefined
    ? null
    : patch(workload, { kind: 'https_edge', id, path: `/edges/https/${id}`, root: id }, EDGE_MODULES);
}

function createRoute(workload: Workload): PlannedWrite | null {
  const { random, ledger } = workload;
  const edge = random.pick(owned(workload, ['https_edge']));
  if (edge === undefined || routesOf(ledger, edge).length >= MOST_OF_A_KIND) return null;
  const marker = workload.newMarker();
  const own = {
    description: marker,
    metadata: random.text(200),
    match_type: random.isChosen(0.5) ? 'exact_path' : 'path_prefix',
    match: `/${random.text(6)}`,
  };
  const state = { ...own, edge_id: edge };
  const path = `/edges/https/${edge}/routes`;
  return {
    ...create('https_edge_route', path, own, state, inline(ROUTE_MODULES, workload), {
      marker,
      refusals: REFERENCE_GONE,
    }),
    root: edge,
  };
}

function patchRoute(workload: Workload): PlannedWrite | null {
  const route = anyRoute(workload);
  return route === null ? null : patch(workload, { kind: 'https_edge_route', ...route }, ROUTE_MODULES);
}

function putEdgeModule(workload: Workload): PlannedWrite | null {
  const id = workload.random.pick(owned(workload, ['https_edge']));
  return id === undefined
    ? null
    : putModule(workload, { kind: 'https_edge', id, path: `/edges/https/${id}`, root: id }, EDGE_MODULES);
}

function putRouteModule(workload: Workload): PlannedWrite | null {
  const route = anyRoute(workload);
  return route === null ? null : putModule(workload, { kind: 'https_edge_route', ...route }, ROUTE_MODULES);
}

function deleteEdgeModule(workload: Workload): PlannedWrite | null {
  const id = workload.random.pick(owned(workload, ['https_edge']));
  return id === undefined
    ? null
    : deleteModule(workload, { kind: 'https_edge', id, path: `/edges/https/${id}`, root: id }, EDGE_MODULES);
}

function deleteRouteModule(workload: Workload): PlannedWrite | null {
  const route = anyRoute(workload);
  return route === null ? null : deleteModule(workload, { kind: 'https_edge_route', ...route }, ROUTE_MODULES);
}

function deleteRoute(workload: Workload): PlannedWrite | null {
  const route = anyRoute(workload);
  return route === null ? null : remove(workload, route, []);
}

function createBackend(workload: Workload): PlannedWrite | null {
  const { random } = workload;
  if (owned(workload, BACKEND_KINDS).length >= 2 * MOST_OF_A_KIND) return null;
  return newBackend(random.pick(BACKEND_KINDS) ?? '', workload);
}

function newBackend(kind: string, workload: Workload): PlannedWrite {
  const { random, ledger } = workload;
  const marker = workload.newMarker();
  const others = random.some(idsOf(ledger, BACKEND_KINDS), 3);
  const described = { description: marker, metadata: random.text(40) };
  const contents =
    others.length === 0 || kind === 'static_backend' || kind === 'http_response_backend'
      ? simpleBackend(kind, random)
      : { kind, fields: { backends: compositeBackends(kind, others, random) } };
  const own = { ...described, ...contents.fields };
  return create(contents.kind, pathOf(contents.kind), own, own, [], { marker, refusals: REFERENCE_GONE });
}

function simpleBackend(kind: string, random: Random): { kind: string; fields: JsonObject } {
  if (kind === 'http_response_backend') {
    const fields = { body: random.text(20 + random.below(8_000)), headers: { 'x-a': 'b' }, status_code: 200 };
    return { kind, fields };
  }
  return {
    kind: 'static_backend',
    fields: { address: `10.0.0.${random.below(255)}:${1 + random.below(65_535)}`, tls: { enabled: false } },
  };
}

function compositeBackends(kind: string, ids: readonly string[], random: Random): JsonObject | string[] {
  return kind === 'failover_backend'
    ? [...ids]
    : Object.fromEntries(ids.map((id) => [id, 1 + random.below(10_000)] as const));
}

function patchBackend(workload: Workload): PlannedWrite | null {
  const { random, ledger } = workload;
  const id = random.pick(owned(workload, BACKEND_KINDS));
  const kind = id === undefined ? undefined : BACKEND_KINDS.find((each) => ledger.get(each, id) !== null);
  if (id === undefined || kind === undefined) return null;
  const isComposite = kind === 'weighted_backend' || kind === 'failover_backend';
  const others = random.some(
    idsOf(ledger, BACKEND_KINDS).filter((other) => other !== id),
    3,
  );
  const body = {
    metadata: random.text(60),
    ...(isComposite && others.length > 0 && { backends: compositeBackends(kind, others, random) }),
  };
  return {
    method: 'PATCH',
    path: `${pathOf(kind)}/${id}`,
    body,
    marker: null,
    changes: [{ kind, id, state: { ...ledger.get(kind, id), ...body } }],
    refusals: [...REFERENCE_GONE, 'ERR_POSTERN_REFERENCE_CYCLE'],
    root: id,
  };
}

function createPolicy(workload: Workload): PlannedWrite | null {
  if (owned(workload, ['ip_policy']).length >= MOST_OF_A_KIND) return null;
  const marker = workload.newMarker();
  const own = { description: marker, metadata: workload.random.text(20) };
  return create('ip_policy', '/ip_policies', own, own, [], { marker, refusals: [] });
}

function createRule(workload: Workload): PlannedWrite | null {
  const { random } = workload;
  const policy = random.pick(owned(workload, ['ip_policy']));
  if (policy === undefined) return null;
  const marker = workload.newMarker();
  const own = {
    description: marker,
    metadata: '',
    cidr: `10.${random.below(256)}.${random.below(256)}.0/24`,
    action: random.isChosen(0.5) ? 'allow' : 'deny',
  };
  const state = { ...own, ip_policy: refTo(policy) };
  return {
    ...create('ip_policy_rule', '/ip_policy_rules', { ...own, ip_policy_id: policy }, state, [], {
      marker,
      refusals: [],
    }),
    root: policy,
  };
}

function patchRule(workload: Workload): PlannedWrite | null {
  const rule = anyRule(workload);
  if (rule === null) return null;
  const body = { cidr: `172.16.${workload.random.below(256)}.0/24`, metadata: workload.random.text(10) };
  const state = { ...workload.ledger.get('ip_policy_rule', rule.id), ...body };
  const changes = [{ kind: 'ip_policy_rule', id: rule.id, state }];
  return { method: 'PATCH', path: rule.path, body, marker: null, changes, refusals: [], root: rule.root };
}

function deleteRule(workload: Workload): PlannedWrite | null {
  const rule = anyRule(workload);
  return rule === null ? null : remove(workload, rule, []);
}

function createSubscription(workload: Workload): PlannedWrite | null {
  const { random, ledger } = workload;
  if (owned(workload, ['event_subscription']).length >= 2) return null;
  const marker = workload.newMarker();
  const types = random.some(SOURCES, 3);
  const destinations = random.some(idsOf(ledger, ['event_destination']), 2);
  const own = { description: marker, metadata: random.text(20) };
  const body = { ...own, sources: types.map((type) => ({ type })), destination_ids: destinations };
  // The sources' URIs hold the id that the server makes: they are compared once they were answered.
  const state = { ...own, destinations: destinations.map(refTo) };
  return create('event_subscription', '/event_subscriptions', body, state, [], { marker, refusals: [] });
}

function patchSubscription(workload: Workload): PlannedWrite | null {
  const id = workload.random.pick(owned(workload, ['event_subscription']));
  return id === undefined
    ? null
    : patch(workload, { kind: 'event_subscription', id, path: `/event_subscriptions/${id}`, root: id }, []);
}

function addOrRemoveSource(workload: Workload): PlannedWrite | null {
  const { random, ledger } = workload;
  const id = random.pick(owned(workload, ['event_subscription']));
  if (id === undefined) return null;
  const before = ledger.get('event_subscription', id);
  const sources = (before?.['sources'] ?? []) as { readonly type: string; readonly uri: string }[];
  const type = random.pick(SOURCES) ?? '';
  const path = `/event_subscriptions/${id}/sources`;
  const isThere = sources.some((source) => source.type === type);
  const uri = `${BASE_URL}${path}/${type}`;
  const after = isThere ? sources.filter((source) => source.type !== type) : [...sources, { type, uri }];
  const changes = [{ kind: 'event_subscription', id, state: { ...before, sources: after } }];
  return isThere
    ? { method: 'DELETE', path: `${path}/${type}`, marker: null, changes, refusals: [], root: id }
    : { method: 'POST', path, body: { type }, marker: null, changes, refusals: [], root: id };
}

function deleteRoot(workload: Workload): PlannedWrite | null {
  const { random } = workload;
  const kind = random.pick(['https_edge', 'ip_policy', 'event_subscription', ...BACKEND_KINDS]) ?? '';
  const id = random.pick(owned(workload, [kind]));
  return id === undefined ? null : remove(workload, { id, path: `${pathOf(kind)}/${id}`, root: id }, STILL_IN_USE);
}

interface Address {
  readonly id: string;
  readonly path: string;
  readonly root: string;
}

function create(
  kind: string,
  path: string,
  own: JsonObject,
  state: JsonObject,
  modules: readonly ModuleWrite[],
  { marker, refusals }: { readonly marker: string; readonly refusals: readonly string[] },
): PlannedWrite {
  return {
    method: 'POST',
    path,
    body: { ...own, ...Object.fromEntries(modules.map(({ name, body }) => [name, body])) },
    marker,
    changes: [
      { kind, id: null, state },
      ...modules.map((module) => ({ kind: `${kind}.${module.name}`, id: null, state: module.state })),
    ],
    refusals,
    root: null,
  };
}

function patch(
  workload: Workload,
  { kind, id, path, root }: Address & { readonly kind: string },
  moduleNames: readonly string[],
): PlannedWrite {
  const { random, ledger } = workload;
  const own = { metadata: random.text(100) };
  const modules = inline(moduleNames, workload);
  return {
    method: 'PATCH',
    path,
    body: { ...own, ...Object.fromEntries(modules.map(({ name, body }) => [name, body])) },
    marker: null,
    changes: [
      { kind, id, state: { ...ledger.get(kind, id), ...own } },
      ...modules.map((module) => ({ kind: `${kind}.${module.name}`, id, state: module.state })),
    ],
    refusals: REFERENCE_GONE,
    root,
  };
}

function putModule(
  { random, ledger }: Workload,
  { kind, id, path, root }: Address & { readonly kind: string },
  names: readonly string[],
): PlannedWrite | null {
  const write = moduleWrite(random.pick(names) ?? '', ledger, random);
  if (write === null) return null;
  return {
    method: 'PUT',
    path: `${path}/${write.name}`,
    body: write.body,
    marker: null,
    changes: [{ kind: `${kind}.${write.name}`, id, state: write.state }],
    refusals: REFERENCE_GONE,
    root,
  };
}

function deleteModule(
  { random }: Workload,
  { kind, id, path, root }: Address & { readonly kind: string },
  names: readonly string[],
): PlannedWrite {
  const name = random.pick(names) ?? '';
  const changes = [{ kind: `${kind}.${name}`, id, state: null }];
  return { method: 'DELETE', path: `${path}/${name}`, marker: null, changes, refusals: [], root };
}

function remove({ ledger }: Workload, { id, path, root }: Address, refusals: readonly string[]): PlannedWrite {
  const changes = ledger.below(id).map((key) => ({ kind: kindIn(key), id: idIn(key), state: null }));
  return { method: 'DELETE', path, marker: null, changes, refusals, root };
}

function inline(names: readonly string[], { ledger, random }: Workload): ModuleWrite[] {
  const chosen = names.filter(() => random.isChosen(0.4));
  return chosen.map((name) => moduleWrite(name, ledger, random)).filter((write) => write !== null);
}

/** What this writer made, by its `description`, without what has an unanswered write. */
function owned({ ledger, writer, open }: Workload, kinds: readonly string[]): string[] {
  return [...ledger.documents]
    .filter(([key, state]) => kinds.includes(kindIn(key)) && isMadeBy(writer, state))
    .map(([key]) => idIn(key))
    .filter((id) => !open.has(id));
}

function isMadeBy(writer: string, { description }: JsonObject): boolean {
  return typeof description === 'string' && description.startsWith(`${writer} `);
}

function routesOf(ledger: Ledger, edge: string): string[] {
  return [...ledger.documents]
    .filter(([key, state]) => kindIn(key) === 'https_edge_route' && state['edge_id'] === edge)
    .map(([key]) => idIn(key));
}

function anyRoute(workload: Workload): Address | null {
  const { random, ledger } = workload;
  const edge = random.pick(owned(workload, ['https_edge']));
  const id = edge === undefined ? undefined : random.pick(routesOf(ledger, edge));
  return edge === undefined || id === undefined ? null : { id, path: `/edges/https/${edge}/routes/${id}`, root: edge };
}

function anyRule(workload: Workload): Address | null {
  const { random, ledger } = workload;
  const policy = random.pick(owned(workload, ['ip_policy']));
  if (policy === undefined) return null;
  const rules = ledger.below(policy).filter((key) => kindIn(key) === 'ip_policy_rule');
  const key = random.pick(rules);
  return key === undefined ? null : { id: idIn(key), path: `/ip_policy_rules/${idIn(key)}`, root: policy };
}

function pathOf(kind: string): string {
  const collection = COLLECTIONS.find((each) => each.kind === kind);
  if (collection === undefined) throw new Error(`${keyOf(kind, '')}is not listed`);
  return collection.path;
}
