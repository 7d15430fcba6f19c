import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { namesOfThisVersion } from './frozen-names.ts';
import { readFrozenNames } from './frozen-names-file.ts';
import { keysOfObjects } from './object-keys.ts';

suite('frozen names', async () => {
  const frozen = readFrozenNames();
  const names = await namesOfThisVersion();

  test('no frozen name is renamed or removed', () => {
    const gone = frozen.filter((name) => !names.has(name));
    assert.deepEqual(
      gone,
      [],
      'frozen: data directories, agents, dashboards and scripts depend on these names. Keep them',
    );
  });

  test('every new name is in test/architecture/frozen-names.txt', () => {
    const added = [...names].filter((name) => !frozen.includes(name));
    assert.deepEqual(added, [], 'new names: check their spelling, then run "npm run freeze" and commit the file');
  });
});

test('the keys of logged objects are found, in spreads, strings and comments too', () => {
  const text =
    "log.info({ a, b: { no: 1 }, 'c-d': \"}, no: 2\", /* no: 3, */ ...(on && { e: 1 }) }, 'x');\nlog.warn('no');";
  assert.deepEqual(keysOfObjects(text, /log\.\w+\(/g), ['a', 'b', 'c-d', 'e']);
});
