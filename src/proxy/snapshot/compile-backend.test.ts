import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BackendSnapshot } from '../../backends/backend.ts';
import { mayShareService } from './compile-backend.ts';

function upstream(address: string): BackendSnapshot {
  return { kind: 'static_backend', id: address, revision: 1, config: { address }, members: new Map() };
}

function failover(id: string, host: string, count: number): BackendSnapshot {
  const all = Array.from({ length: count }, (_, at) => upstream(`${host}:${1 + at}`));
  return {
    kind: 'failover_backend',
    id,
    revision: 1,
    config: {},
    members: new Map(all.map((each) => [each.id, each])),
  };
}

test('two backends share a service if a member of each may send to the same', () => {
  assert.equal(mayShareService(failover('a', '10.0.0.1', 100), failover('b', '10.0.0.2', 100)), false);
  assert.equal(mayShareService(failover('a', '10.0.0.1', 100), failover('b', '[::ffff:10.0.0.1]', 1)), true);
});

test('two backends with thousands of members count as sharing one, and are not compared for minutes', () => {
  const startUs = process.threadCpuUsage();
  assert.equal(mayShareService(failover('a', '10.0.0.1', 5_000), failover('b', '10.0.0.2', 5_000)), true);
  const { user, system } = process.threadCpuUsage(startUs);
  assert.ok(user + system < 500_000, `${user + system} µs`);
});
