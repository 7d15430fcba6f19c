import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RequestChanger } from '../../snapshot/edge-snapshot.ts';
import { checkedChange } from './module-headers.ts';

test('checks a change once as long as the module returns the same one, and a forbidden one each time', () => {
  const asked: string[] = [];
  const changer = (name: string): RequestChanger => ({
    name,
    prepared: { transformRequest: () => null },
    isForeignHeader: (header) => asked.push(`${name} ${header}`) > 0 && header === 'x-foreign',
  });
  const [one, other] = [changer('one'), changer('other')];
  const change = { add: ['x-site', 'a'] };
  for (const module of [one, one, other, one]) checkedChange(module, change);
  assert.deepEqual(asked, ['one x-site', 'other x-site']);
  assert.deepEqual(checkedChange(one, { add: ['x-site', 'b'] }).added, ['x-site', 'b']);
  const forbidden = { remove: ['x-foreign'] };
  for (const module of [one, one]) assert.throws(() => checkedChange(module, forbidden), /not its own/);
});
