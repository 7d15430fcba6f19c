import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { JsonObject } from '../../kit/json.ts';
import { impliedBy, nameObjects } from './object-names.ts';
import { type ObjectKind, objectKind } from './sections.ts';

function kindOf(name: string): ObjectKind {
  return objectKind(name) ?? assert.fail(name);
}
const STATIC = kindOf('static_backend');
const GROUP = kindOf('tunnel_group_backend');

/** Names in the order of the objects, each with the description that its key implies. */
function named(...objects: readonly (readonly [ObjectKind, JsonObject])[]): readonly (readonly [string, unknown])[] {
  const numbered = objects.map(([kind, config], at) => ({ kind, id: `x_${at}`, config, of: at }));
  return [...nameObjects(numbered)]
    .sort(([, one], [, other]) => one.of - other.of)
    .map(([name, { kind, config }]) => [name, impliedBy(kind, name, config)['description']]);
}

suite('names of backends without a description', () => {
  test('are their addresses and labels', () => {
    assert.deepEqual(
      named(
        [STATIC, { description: '', address: '10.0.0.5:3000' }],
        [GROUP, { description: '', labels: { zone: 'a', app: 'web' } }],
        [kindOf('http_response_backend'), { description: '', body: 'x' }],
        [GROUP, { description: '', labels: { app: 'x'.repeat(200) } }],
      ),
      [
        ['10.0.0.5:3000', ''],
        ['app=web,zone=a', ''],
        ['http_response', ''],
        ['tunnel_group', ''],
      ],
    );
  });

  test('are numbered if several are equal, and give way to a description that is the same', () => {
    const address = '10.0.0.5:3000';
    assert.deepEqual(
      named(
        [STATIC, { description: '', address }],
        [STATIC, { description: '', address }],
        [STATIC, { description: `${address} 2`, address }],
        [STATIC, { description: address, address: 'b:1' }],
        [STATIC, { description: 'static', address: 'c:1' }],
      ),
      [
        [address, ''],
        [`${address} 3`, ''],
        // Looks like the second of several: the file says its description.
        [`${address} 2`, ''],
        [`${address} 4`, `${address} 4`],
        ['static', 'static'],
      ],
    );
  });

  test('do not change with the order of labels', () => {
    const [one, other] = [
      { a: '1', b: '2' },
      { b: '2', a: '1' },
    ].map((labels) => named([GROUP, { labels }]));
    assert.deepEqual(one, other);
  });
});

suite('names of IP policy lists without a description', () => {
  test('are their sources', () => {
    const list = kindOf('ip_policy_list');
    const none = { description: '', url: '', file: '', countries: [] };
    assert.deepEqual(
      named(
        [list, { ...none, url: 'https://lists.example.com/a.txt' }],
        [list, { ...none, file: 'office/b.txt' }],
        [list, { ...none, file: 'office/b.txt' }],
        [list, { countries: ['fr', 'DE', 'FR'] }],
        [list, { ...none, url: `https://lists.example.com/${'x'.repeat(100)}` }],
        [list, none],
        [list, { ...none, file: 'c.txt', description: 'named' }],
      ),
      [
        ['https://lists.example.com/a.txt', ''],
        ['office/b.txt', ''],
        ['office/b.txt 2', ''],
        ['DE,FR', ''],
        ['ip_policy_list', ''],
        ['ip_policy_list 2', ''],
        ['named', 'named'],
      ],
    );
  });
});
