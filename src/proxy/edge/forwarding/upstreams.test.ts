import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import type { BackendSnapshot } from '../../../backends/backend.ts';
import type { EdgeSnapshot } from '../../snapshot/edge-snapshot.ts';
import { AddressesInUse } from './upstreams.ts';

let reads = 0;

function upstream(at: number): BackendSnapshot {
  const config = {
    get address() {
      reads += 1;
      return `10.0.0.1:${3000 + at}`;
    },
    tls: { enabled: false },
  };
  return { kind: 'static_backend', id: `static_${at}`, revision: 1, config, members: new Map() };
}

function failover(members: readonly BackendSnapshot[]): BackendSnapshot {
  const byId = new Map(members.map((member) => [member.id, member]));
  return { kind: 'failover_backend', id: 'failover', revision: 1, config: {}, members: byId };
}

function edge(backends: readonly BackendSnapshot[]): EdgeSnapshot {
  return { routes: { all: backends.map((backend) => ({ backend })) } } as unknown as EdgeSnapshot;
}

function reached(edges: readonly EdgeSnapshot[]): ReadonlySet<string> {
  const found = new Set<string>();
  const visit = ({ config, members }: BackendSnapshot): void => {
    if (typeof config['address'] === 'string') found.add(config['address']);
    for (const member of members.values()) visit(member);
  };
  for (const { routes } of edges) for (const { backend } of routes.all) if (backend !== null) visit(backend);
  return found;
}

suite('the addresses that edges use', () => {
  test('are released with the last backend that leads to them, also when edges share it', () => {
    const shared = [0, 1, 2].map((at) => upstream(at));
    const groups = [failover(shared), failover([...shared.slice(0, 1), upstream(0), upstream(3)]), upstream(4)];
    const backend = fc.constantFrom(...shared, ...groups, failover(groups.slice(0, 2)));
    const swap = fc.tuple(fc.nat(3), fc.option(fc.array(backend, { maxLength: 3 })));
    fc.assert(
      fc.property(fc.array(swap, { maxLength: 20 }), (swaps) => {
        const served: (EdgeSnapshot | null)[] = [edge([shared[0] as BackendSnapshot]), null, null, null];
        const live = () => served.filter((each) => each !== null);
        const inUse = new AddressesInUse(live());
        for (const [at, backends] of swaps) {
          const before = reached(live());
          const now = backends === null ? null : edge(backends);
          const released = inUse.swap(served[at] ?? null, now);
          served[at] = now;
          const gone = [...before.difference(reached(live()))];
          assert.deepEqual(released.toSorted(), gone.map((address) => `http://${address}`).toSorted());
        }
      }),
    );
  });

  test('are counted once for all edges that share a backend', () => {
    const large = failover(Array.from({ length: 1_000 }, (_, at) => upstream(at)));
    const edges = Array.from({ length: 100 }, () => edge([large, large]));
    reads = 0;
    const inUse = new AddressesInUse(edges);
    for (const each of edges.slice(1)) assert.deepEqual(inUse.swap(each, null), []);
    assert.equal(inUse.swap(edges[0] as EdgeSnapshot, null).length, 1_000);
    assert.ok(reads <= 2_000, `${reads} addresses read`);
  });
});
