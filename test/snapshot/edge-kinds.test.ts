// A kind of edge is a folder and a line: here is one that no folder has, between the registered ones.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { createCatalog } from '../../src/control/documents/catalog.ts';
import { backendResources } from '../../src/control/resources/backend-resources.ts';
import { resourcesOfEdges } from '../../src/control/resources/edge-resources.ts';
import { ownedNames } from '../../src/edges/owned-names.ts';
import type { StoredEdgeKind } from '../../src/edges/record-kinds.ts';
import { edgeKinds } from '../../src/edges/registry.ts';
import { isPass } from '../../src/modules/contract/decides.ts';
import { modules } from '../../src/modules/registry.ts';
import { Snapshots } from '../../src/proxy/snapshot/snapshots.ts';
import { type MemoryPut, MemoryReplica, memoryId, memorySite } from '../support/memory-replica.ts';

const bytes: StoredEdgeKind = {
  name: 'bytes',
  protocols: ['bytes'],
  owns: 'names',
  passes: ['connections'],
  routes: null,
  endsTls: false,
  api: {
    idPrefix: 'edgbyt',
    title: 'a bytes edge',
    description: 'Names whose connections are forwarded.',
    hostports: ownedNames,
    example: { hostports: ['db.example.com:443'] },
    publicUrl: (hostport) => `bytes://${hostport}`,
  },
};
const ports: StoredEdgeKind = { ...bytes, name: 'ports', protocols: ['ports'], owns: 'ports' };
const kinds = [...edgeKinds, bytes, ports];

const EDGE = 'edgbyt_1';
const POLICY = memoryId('ipp', 1);
const ids = new Map([['bkd_1', 'static_backend']]);
const definitions = { modules, edgeKinds: kinds, kindOfId: (id: string) => ids.get(id) ?? null };
const open = (replica: MemoryReplica, how: 'open' | 'lazy' = 'open'): Promise<Snapshots> =>
  how === 'open' ? Snapshots.open(replica, definitions) : Snapshots.lazy(replica, definitions);

function edge(kind: string, id: string, hostport: string): readonly MemoryPut[] {
  return [
    { kind, id, parent: null, doc: { hostports: [hostport] } },
    { kind: `${kind}.backend`, id: `${id}.backend`, parent: id, doc: { enabled: true, backend_id: 'bkd_1' } },
    {
      kind: `${kind}.ip_restriction`,
      id: `${id}.ip_restriction`,
      parent: id,
      doc: { enabled: true, ip_policy_ids: [POLICY] },
    },
  ];
}

function rule(at: number, action: string, cidr: string): MemoryPut {
  return { kind: 'ip_policy_rule', id: memoryId('ipr', at), parent: POLICY, doc: { cidr, action } };
}

const RECORDS: readonly MemoryPut[] = [
  { kind: 'static_backend', id: 'bkd_1', parent: null, doc: { address: '127.0.0.1:3000' } },
  { kind: 'ip_policy', id: POLICY, parent: null, doc: {} },
  rule(1, 'allow', '10.0.0.0/8'),
  ...edge('bytes_edge', EDGE, 'db.example.com:443'),
  ...memorySite(0, 'bkd_1'),
];

function letsIn(snapshots: Snapshots, clientAddress: string): boolean | undefined {
  const { connection } = snapshots.find('db.example.com') ?? {};
  return connection?.modules.every(({ prepared }) => {
    const verdict = prepared.judge?.({ clientAddress } as never);
    return verdict === undefined || isPass(verdict as never);
  });
}

suite('a kind of edge without routes', () => {
  for (const how of ['open', 'lazy'] as const) {
    test(`is found by its name, with its modules and its backend (${how})`, async () => {
      const replica = new MemoryReplica();
      replica.change(RECORDS);
      const snapshots = await open(replica, how);
      const found = snapshots.find('db.example.com');
      assert.equal(found?.id, EDGE);
      assert.equal(found?.connection?.backend?.id, 'bkd_1');
      assert.deepEqual([letsIn(snapshots, '10.1.2.3'), letsIn(snapshots, '192.0.2.1')], [true, false]);
      // A request that reaches its host by HTTP finds nothing that would serve it.
      assert.deepEqual(found?.routes.all, []);
      const site = snapshots.find('site-0.example.com');
      assert.deepEqual([site?.connection, site?.routes.all.length], [undefined, 1]);
      snapshots.close();
    });
  }

  test('is compiled again when a record changes that it reads, and refuses what cannot be prepared', async () => {
    const replica = new MemoryReplica();
    replica.change(RECORDS);
    const snapshots = await open(replica);
    const before = snapshots.find('site-0.example.com');
    await snapshots.served(replica.change([rule(2, 'deny', '10.1.0.0/16')]));
    assert.deepEqual([letsIn(snapshots, '10.1.2.3'), letsIn(snapshots, '10.2.2.3')], [false, true]);
    const later = { kind: 'bytes_edge.of_later', id: `${EDGE}.of_later`, parent: EDGE, doc: { enabled: true } };
    await snapshots.served(replica.change([later]));
    assert.equal(snapshots.find('db.example.com')?.connection?.problem?.module, 'of_later');
    assert.equal(snapshots.find('site-0.example.com'), before);
    await snapshots.served(replica.change([], [{ kind: 'bytes_edge', id: EDGE }]));
    assert.equal(snapshots.find('db.example.com'), undefined);
    snapshots.close();
  });

  test('has no name if it owns ports', async () => {
    const replica = new MemoryReplica();
    replica.change([...RECORDS, ...edge('ports_edge', 'edgprt_1', 'tcp.example.com:9000')]);
    const snapshots = await open(replica);
    assert.equal(snapshots.find('tcp.example.com'), undefined);
    assert.deepEqual(snapshots.get('edgprt_1')?.hosts, []);
    assert.equal(snapshots.get('edgprt_1')?.connection?.backend?.id, 'bkd_1');
    snapshots.close();
  });

  test('is a resource with the modules for what passes it, whose names nothing else may have', () => {
    const [https, , resource] = resourcesOfEdges([...edgeKinds, bytes]);
    assert.ok(https !== undefined && resource !== undefined);
    assert.deepEqual([resource.path, resource.kind, resource.listKey], ['/edges/bytes', 'bytes_edge', 'bytes_edges']);
    const config = { description: '', metadata: '', hostports: ['db.example.com:443'] };
    const keys = [https, resource].map((each) => each.uniqueKeys?.(config, { id: 'x', parent: null }, {}));
    assert.deepEqual(keys[0], keys[1]);
    const inline = createCatalog([resource, ...backendResources] as never, modules).compiled.get('bytes_edge')?.modules;
    assert.deepEqual(
      inline?.map(({ kind }) => kind),
      ['bytes_edge.ip_restriction', 'bytes_edge.backend'],
    );
  });
});
