import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { edgeKinds } from '../../edges/registry.ts';
import type { JsonObject } from '../../kit/json.ts';
import { moduleRecordKey } from '../../modules/module-config.ts';
import { modules } from '../../modules/registry.ts';
import { RecordTable } from '../../store/replica/record-table.ts';
import { compileEdge } from './compile-edge.ts';
import { EdgeDependencies, TrackingReader } from './edge-dependencies.ts';
import { KindsOfEdges } from './kinds-of-edges.ts';
import { ModuleTables } from './module-tables.ts';

const ROUTES = ['route_1', 'route_2', 'route_3'];
const OWNER_KINDS = { edge: 'https_edge', route: 'https_edge_route' } as const;
const kinds = new KindsOfEdges(edgeKinds);
const definitions = {
  modules,
  kinds,
  tables: new ModuleTables(modules, kinds.owners),
  kindOfId: () => 'static_backend',
};

suite('dependencies of a compiled edge', () => {
  test('are the records that exist, not the modules that each route could have', () => {
    const { dependencies } = compiled();
    assert.deepEqual([...dependencies].sort(), ['backend_1', 'edge_1', 'https_edge_route < edge_1', ...ROUTES].sort());
  });

  test('include a module that is added to a route later', () => {
    const index = new EdgeDependencies(kinds.recordKinds);
    index.add('edge_1', compiled().dependencies);
    for (const name of ['compression', 'of_a_later_version']) {
      const record = { ...moduleRecordKey(OWNER_KINDS.route, 'route_2', name), parent: 'route_2', doc: {} };
      const affected = index.edgesAffectedBy([{ op: 'put', record: { ...record, revision: 9, secrets: null } }]);
      assert.deepEqual([...affected], ['edge_1'], name);
    }
  });

  test('of one edge stay when another edge that shared them is removed', () => {
    const index = new EdgeDependencies(kinds.recordKinds);
    for (const edge of ['edge_1', 'edge_2', 'edge_1']) index.add(edge, new Set(['backend_1', edge]));
    const deleted = [{ op: 'delete', key: { kind: 'static_backend', id: 'backend_1' }, revision: 9 }] as const;
    assert.deepEqual([...index.edgesAffectedBy(deleted)].sort(), ['edge_1', 'edge_2']);
    index.remove('edge_1', new Set(['backend_1', 'edge_1']));
    assert.deepEqual([...index.edgesAffectedBy(deleted)], ['edge_2']);
    index.remove('edge_2', new Set(['backend_1']));
    assert.deepEqual([...index.edgesAffectedBy(deleted)], []);
  });
});

suite('backends that name others', () => {
  /** So many backends on each level, which all name all of the next one. */
  const levels = (depth: number, width: number, last: readonly string[] = []): RecordTable => {
    const table = new RecordTable();
    const id = (level: number, at: number): string => `fo_${level}_${at}`;
    const across = Array.from({ length: width }, (_, at) => at);
    const put = (kind: string, each: string, parent: string | null, doc: JsonObject): void =>
      table.put({ kind, id: each, parent, doc, revision: 1, secrets: null });
    for (let level = 0; level < depth; level += 1) {
      const below = level === depth - 1 ? [...last] : across.map((at) => id(level + 1, at));
      for (const at of across) put('failover_backend', id(level, at), null, { backends: below });
    }
    put(OWNER_KINDS.edge, 'edge_1', null, { hostports: ['app.example.com:443'] });
    for (const route of ROUTES) {
      put(OWNER_KINDS.route, route, 'edge_1', { match_type: 'path_prefix', match: `/${route}` });
      put('https_edge_route.backend', `${route}.backend`, route, { backend_id: id(0, 0) });
    }
    return table;
  };
  const routeOf = (table: RecordTable) => {
    const all = { ...definitions, kindOfId: () => 'failover_backend' };
    const [first, second] = compileEdge('edge_1', new TrackingReader(table), all, 'operator')?.routes.all ?? [];
    assert.ok(first !== undefined && second !== undefined);
    return { first, second };
  };

  test('are compiled once each, and shared by the routes', () => {
    const { first, second } = routeOf(levels(13, 2));
    assert.equal(first.problem, null);
    assert.equal(first.backend, second.backend);
    const found = new Set([first.backend]);
    for (const each of found) for (const member of each?.members.values() ?? []) found.add(member);
    assert.equal(found.size, 1 + 2 * 12);
  });

  test('refuse the route if there are a million ways through them, too many levels, or a cycle', () => {
    for (const [table, problem] of [
      [levels(20, 2), /fo_0_0 leads to 524288 targets .* at most 10000/],
      [levels(5, 100), /fo_0_0 leads to 100000000 targets/],
      [levels(21, 1), /fo_0_0 has more than 20 levels/],
      [levels(3, 50, ['fo_0_0', 'fo_1_1']), /fo_0_0 has more than 20 levels/],
    ] as const) {
      const { first } = routeOf(table);
      assert.match(first.problem?.message ?? '', problem);
      assert.equal(first.backend, null);
    }
  });
});

function compiled(): { readonly dependencies: ReadonlySet<string> } {
  const table = new RecordTable();
  const put = (kind: string, id: string, parent: string | null, doc: Record<string, string | string[]>): void =>
    table.put({ kind, id, parent, doc, revision: 1, secrets: null });
  put(OWNER_KINDS.edge, 'edge_1', null, { hostports: ['app.example.com:443'] });
  put('static_backend', 'backend_1', null, { address: '127.0.0.1:3000' });
  for (const route of ROUTES) {
    put(OWNER_KINDS.route, route, 'edge_1', { match_type: 'path_prefix', match: `/${route}` });
    const { kind, id } = moduleRecordKey(OWNER_KINDS.route, route, 'backend');
    put(kind, id, route, { backend_id: 'backend_1' });
  }
  const reader = new TrackingReader(table);
  assert.equal(compileEdge('edge_1', reader, definitions, 'operator')?.routes.all.length, ROUTES.length);
  return reader;
}
