import type { Ledger } from './ledger.ts';
import { moduleWrite } from './module-writes.ts';
import {
  type Address,
  create,
  inline,
  MOST_OF_A_KIND,
  owned,
  type Plan,
  type PlannedWrite,
  patch,
  REFERENCE_GONE,
  remove,
  type Workload,
} from './planned-write.ts';
import { idIn, kindIn } from './rendered-documents.ts';

const EDGE_MODULES = ['mutual_tls', 'tls_termination'];
const ROUTE_MODULES = ['oidc', 'backend', 'compression', 'ip_restriction'];
/** Few, so that writers race for them. */
const CONTESTED_HOSTS = 6;

/** Edges, routes and their modules; duplicates are chosen twice as often. */
export const edgePlans: readonly Plan[] = [
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
];

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

function anyRoute(workload: Workload): Address | null {
  const { random, ledger } = workload;
  const edge = random.pick(owned(workload, ['https_edge']));
  const id = edge === undefined ? undefined : random.pick(routesOf(ledger, edge));
  return edge === undefined || id === undefined ? null : { id, path: `/edges/https/${edge}/routes/${id}`, root: edge };
}

function routesOf(ledger: Ledger, edge: string): string[] {
  return [...ledger.documents]
    .filter(([key, state]) => kindIn(key) === 'https_edge_route' && state['edge_id'] === edge)
    .map(([key]) => idIn(key));
}
