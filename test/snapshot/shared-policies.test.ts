import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isPass } from '../../src/modules/contract/decides.ts';
import { modules } from '../../src/modules/registry.ts';
import { Snapshots } from '../../src/proxy/snapshot/snapshots.ts';
import type { FollowedReplica } from '../../src/store/replica/replica.ts';
import { type MemoryPut, MemoryReplica, memoryId, memorySite } from '../support/memory-replica.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
const CPU_US_PER_MS = 1_000;

const addressOf = (at: number): string => `10.${at >>> 16}.${(at >>> 8) & 255}.${at & 255}`;

function rule(at: number, { cidr = `${addressOf(at)}/32`, action = 'deny', policy = 1 } = {}): MemoryPut {
  return { kind: 'ip_policy_rule', id: memoryId('ipr', at), parent: memoryId('ipp', policy), doc: { cidr, action } };
}

function policy(at: number): MemoryPut {
  return { kind: 'ip_policy', id: memoryId('ipp', at), parent: null, doc: {} };
}

/** One route for each, on as many edges. */
function sites(count: number, policyAt = 1): readonly MemoryPut[] {
  const backend = { kind: 'static_backend', id: 'bkd_1', parent: null, doc: { address: '127.0.0.1:3000' } };
  return [
    backend,
    ...Array.from({ length: count }, (_, at) => memorySite(at, 'bkd_1', () => [restriction(at, policyAt)])).flat(),
  ];
}

function restriction(at: number, ...policies: readonly number[]): MemoryPut {
  const route = memoryId('edghtsrt', at);
  const doc = { enabled: true, ip_policy_ids: policies.map((each) => memoryId('ipp', each)) };
  return { kind: 'https_edge_route.ip_restriction', id: `${route}.ip_restriction`, parent: route, doc };
}

async function open(replica: FollowedReplica): Promise<Snapshots> {
  return Snapshots.open(replica, { modules, kindOfId: () => 'static_backend' });
}

function letsIn(snapshots: Snapshots, address: string, site = 0): boolean {
  const route = snapshots.findEdge(`site-${site}.example.com`)?.edge.routes.all[0];
  const module = route?.modules.find(({ name }) => name === 'ip_restriction');
  const verdict = module?.prepared.judge?.({ clientAddress: address } as never);
  return verdict !== undefined && isPass(verdict);
}

function heapMb(): number {
  collect();
  return process.memoryUsage().heapUsed / 2 ** 20;
}

suite('a policy with many rules on many routes', () => {
  test('is in memory once, and one rule more is one step', async () => {
    const replica = new MemoryReplica();
    const rules = Array.from({ length: 2_000 }, (_, at) => rule(at));
    replica.change([policy(1), ...rules, rule(9_000, { cidr: '0.0.0.0/0', action: 'allow' }), ...sites(200)]);
    const before = heapMb();
    const snapshots = await open(replica);
    const takenMb = heapMb() - before;
    // 300 MB when each route had its own copy of every rule.
    assert.ok(takenMb < 15, `${takenMb} MB`);
    assert.deepEqual([letsIn(snapshots, addressOf(7)), letsIn(snapshots, '11.0.0.1', 199)], [false, true]);
    const startUs = process.threadCpuUsage();
    await snapshots.served(replica.change([rule(5_000, { cidr: '11.0.0.1/32' })]));
    await snapshots.served(replica.change([], [{ kind: 'ip_policy_rule', id: memoryId('ipr', 7) }]));
    const { user, system } = process.threadCpuUsage(startUs);
    assert.ok(user + system < 1_500 * CPU_US_PER_MS, `${(user + system) / CPU_US_PER_MS} ms`);
    assert.deepEqual([letsIn(snapshots, addressOf(7)), letsIn(snapshots, '11.0.0.1', 199)], [true, false]);
    snapshots.close();
  });

  test('is searched, not scanned', async () => {
    const replica = new MemoryReplica();
    const rules = Array.from({ length: 20_000 }, (_, at) => rule(at));
    replica.change([policy(1), ...rules, rule(30_000, { cidr: '0.0.0.0/0', action: 'allow' }), ...sites(1)]);
    const snapshots = await open(replica);
    const startUs = process.threadCpuUsage();
    for (let at = 0; at < 2_000; at += 1) assert.equal(letsIn(snapshots, `11.1.${at & 255}.${at >>> 8}`), true);
    const { user, system } = process.threadCpuUsage(startUs);
    // 850 µs for each request when every rule was asked.
    assert.ok(user + system < 100 * CPU_US_PER_MS, `${(user + system) / 2_000} µs for each`);
    snapshots.close();
  });

  test('never shows a part of a change, while its rules are sorted in slices', async () => {
    const replica = new MemoryReplica();
    // The second policy allows everybody until it has its rules, and is used from the same change on.
    replica.change([policy(1), policy(2), rule(0, { cidr: '192.0.2.1/32', action: 'allow' }), ...sites(40)]);
    replica.change([rule(1, { cidr: '0.0.0.0/0', action: 'allow', policy: 2 })]);
    const snapshots = await open(replica);
    const denied = Array.from({ length: 5_000 }, (_, at) => rule(10 + at, { policy: 2 }));
    const served = snapshots.served(
      replica.change([...Array.from({ length: 40 }, (_, at) => restriction(at, 2)), ...denied]),
    );
    assert.ok(served !== null);
    let isServed = false;
    void served.then(() => {
      isServed = true;
    });
    let turns = 0;
    while (!isServed) {
      turns += 1;
      // Denied before the change, because nothing allowed it, and after it, by a rule of its own.
      for (const site of [0, 39]) assert.equal(letsIn(snapshots, addressOf(4_990), site), false);
      // Small changes meanwhile wait, and do not see half of it either.
      if (turns === 2) replica.change([restriction(3, 2, 1)]);
      await new Promise(setImmediate);
    }
    assert.ok(turns > 3, `${turns} turns`);
    assert.equal(letsIn(snapshots, '192.0.2.9', 39), true);
    snapshots.close();
  });
});
