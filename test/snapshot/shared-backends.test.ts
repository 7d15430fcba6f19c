import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import type { BackendSnapshot } from '../../src/backends/backend.ts';
import { modules } from '../../src/modules/registry.ts';
import { Snapshots } from '../../src/proxy/snapshot/snapshots.ts';
import { type MemoryPut, MemoryReplica, memoryId, memorySite } from '../support/memory-replica.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
const CPU_US_PER_MS = 1_000;

const kindOfId = (id: string): string => (id.startsWith('bkdfo') ? 'failover_backend' : 'static_backend');

function upstream(at: number, port = 3_000): MemoryPut {
  return { kind: 'static_backend', id: memoryId('bkdsc', at), parent: null, doc: { address: `127.0.0.1:${port}` } };
}

function failover(at: number, backends: readonly string[]): MemoryPut {
  return { kind: 'failover_backend', id: memoryId('bkdfo', at), parent: null, doc: { backends } };
}

function backendOf(snapshots: Snapshots, site: number): BackendSnapshot | null | undefined {
  return snapshots.findEdge(`site-${site}.example.com`)?.edge.routes.all[0]?.backend;
}

function heapMb(): number {
  collect();
  return process.memoryUsage().heapUsed / 2 ** 20;
}

suite('a backend with many targets on many sites', () => {
  test('is in memory once, and a change of one target is one step', async () => {
    const replica = new MemoryReplica();
    const targets = Array.from({ length: 2_500 }, (_, at) => upstream(at));
    const groups = Array.from({ length: 25 }, (_, at) =>
      failover(
        1 + at,
        targets.slice(100 * at, 100 * (at + 1)).map(({ id }) => id),
      ),
    );
    const top = failover(
      0,
      groups.map(({ id }) => id),
    );
    replica.change([
      ...targets,
      ...groups,
      top,
      ...Array.from({ length: 200 }, (_, at) => memorySite(at, top.id)).flat(),
    ]);
    const before = heapMb();
    const startUs = process.threadCpuUsage();
    const snapshots = await Snapshots.open(replica, { modules, kindOfId });
    const takenMb = heapMb() - before;
    // 160 MB when each edge had its own copy of every target, and half a minute.
    assert.ok(takenMb < 15, `${takenMb} MB`);
    await snapshots.served(replica.change([upstream(7, 4_000)]));
    const { user, system } = process.threadCpuUsage(startUs);
    assert.ok(user + system < 2_000 * CPU_US_PER_MS, `${(user + system) / CPU_US_PER_MS} ms`);
    for (const site of [0, 199]) {
      const changed = backendOf(snapshots, site)?.members.get(memoryId('bkdfo', 1))?.members.get(memoryId('bkdsc', 7));
      assert.equal(changed?.config['address'], '127.0.0.1:4000');
    }
    snapshots.close();
  });

  test('is served as it is, whatever changes above, below and beside it', async () => {
    const SITES = 4;
    const below = (at: number): fc.Arbitrary<readonly string[]> =>
      fc.uniqueArray(
        fc.oneof(
          fc.nat(3).map((each) => memoryId('bkdsc', each)),
          // A failover may name itself or one above it: a cycle refuses, and what ends it serves again.
          fc.nat(3).map((each) => memoryId('bkdfo', at === 3 ? 0 : each)),
        ),
        { minLength: 1, maxLength: 4 },
      );
    const step = fc.oneof(
      fc.record({ at: fc.nat(3), port: fc.integer({ min: 1, max: 9 }) }).map(({ at, port }) => upstream(at, port)),
      fc.nat(3).chain((at) => below(at).map((backends) => failover(at, backends))),
      fc.nat(3).map((at) => ({ kind: 'static_backend', id: memoryId('bkdsc', at) })),
      fc.nat(3).map((at) => ({ kind: 'failover_backend', id: memoryId('bkdfo', at) })),
      fc
        .tuple(fc.nat(SITES - 1), fc.nat(3))
        .map(([site, at]) => memorySite(site, memoryId('bkdfo', at))[2] as MemoryPut),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(step, { minLength: 1, maxLength: 4 }), { maxLength: 8 }), async (rounds) => {
        const replica = new MemoryReplica();
        replica.change([
          ...[0, 1, 2, 3].map((at) => upstream(at)),
          ...[0, 1, 2, 3].map((at) =>
            failover(at, [memoryId('bkdsc', at), ...(at < 3 ? [memoryId('bkdfo', at + 1)] : [])]),
          ),
          ...Array.from({ length: SITES }, (_, at) => memorySite(at, memoryId('bkdfo', at))).flat(),
        ]);
        const snapshots = await Snapshots.open(replica, { modules, kindOfId });
        for (const steps of rounds) {
          replica.change(
            steps.filter((each) => 'doc' in each),
            steps.filter((each) => !('doc' in each)),
          );
          await snapshots.settled();
          const fresh = await Snapshots.open(replica, { modules, kindOfId });
          for (let site = 0; site < SITES; site += 1) {
            assert.deepEqual(backendOf(snapshots, site), backendOf(fresh, site), `site ${site}`);
          }
          fresh.close();
        }
        snapshots.close();
      }),
      { numRuns: 100 },
    );
  });
});
