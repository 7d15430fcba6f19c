import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { BackendSnapshot, Target, TargetPorts } from '../backend.ts';
import { failover } from './failover.ts';

suite('failover backend', () => {
  test('lists the targets of its members in order, and leaves out a member that is gone', () => {
    const members = new Map(['c', 'a'].map((id) => [id, { id } as BackendSnapshot]));
    const backend = { config: { backends: ['a', 'b', 'c'] }, members } as unknown as BackendSnapshot<never>;
    const ports = {
      targetsOf: ({ id }: BackendSnapshot) => [{ name: `${id}1` }, { name: `${id}2` }] as Target<object>[],
    };
    const names = failover
      .targets(backend, ports as unknown as TargetPorts<object>)
      .map((target) => 'name' in target && target.name);
    assert.deepEqual(names, ['a1', 'a2', 'c1', 'c2']);
  });

  test('rejects a backend that is named twice', () => {
    assert.match(failover.check?.({ backends: ['a', 'b', 'a'] } as never)[0]?.message ?? '', /lists a twice/);
    assert.deepEqual(failover.check?.({ backends: ['a', 'b'] } as never), []);
  });

  test('names its members', () => {
    assert.deepEqual(failover.memberIds?.({ backends: ['b', 'a'] } as never), ['b', 'a']);
  });
});
