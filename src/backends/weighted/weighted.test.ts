import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { BackendSnapshot, Target, TargetPorts } from '../backend.ts';
import { weighted } from './weighted.ts';

const member = (id: string) => ({ id }) as BackendSnapshot;

function pick(weights: Record<string, number>, random: number, present = Object.keys(weights)): string | undefined {
  const backend = { config: { backends: weights }, members: new Map(present.map((id) => [id, member(id)])) };
  const ports = { random: () => random, targetsOf: ({ id }: BackendSnapshot) => [{ name: id } as Target<object>] };
  const [target] = weighted.targets(
    backend as unknown as BackendSnapshot<never>,
    ports as unknown as TargetPorts<object>,
  );
  return target?.kind === 'unreachable' ? undefined : target?.name;
}

suite('weighted backend', () => {
  test('chooses one member by its share of the weights', () => {
    const weights = { a: 1, b: 3 };
    assert.deepEqual(
      [0, 0.2499, 0.25, 0.9999].map((random) => pick(weights, random)),
      ['a', 'a', 'b', 'b'],
    );
  });

  test('never chooses a weight of 0 or a member that is gone', () => {
    assert.equal(pick({ a: 0, b: 1 }, 0), 'b');
    assert.equal(pick({ a: 9, b: 1 }, 0, ['b']), 'b');
    assert.equal(pick({ a: 1 }, 0, []), undefined);
  });

  test('rejects weights that are all 0', () => {
    assert.equal(weighted.check?.({ backends: { a: 0, b: 0 } } as never).length, 1);
    assert.equal(weighted.check?.({ backends: { a: 0, b: 1 } } as never).length, 0);
  });

  test('names its members', () => {
    assert.deepEqual(weighted.memberIds?.({ backends: { a: 1, b: 0 } } as never), ['a', 'b']);
  });
});
