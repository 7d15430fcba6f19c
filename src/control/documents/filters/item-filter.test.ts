import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import Type from 'typebox';
import { mapOf, refSchema } from '../../../kit/schema/annotations.ts';
import { compileFilter, textFilter } from './item-filter.ts';

const schema = Type.Object({
  id: Type.String(),
  port: Type.Integer(),
  enabled: Type.Boolean(),
  created_at: Type.String({ format: 'date-time' }),
  expires_at: Type.Union([Type.String(), Type.Null()]),
  labels: mapOf(Type.String(), {}),
  hosts: Type.Array(Type.String()),
  routes: Type.Array(Type.Object({ match: Type.String() })),
  edge: Type.Union([refSchema, Type.Null()]),
});
const NOW_MS = Date.parse('2026-11-17T12:00:00Z');
const item = {
  id: "it's",
  port: 443,
  enabled: true,
  created_at: '2026-11-16T12:00:00.000Z',
  expires_at: null,
  labels: { 'a-b': 'shop' },
  hosts: ['a', 'b'],
  routes: [{ match: '/' }],
  edge: null,
};

const RESULTS: Readonly<Record<string, boolean>> = {
  'obj.port == 443': true,
  'obj.port in [80, 443] && !(obj.port < 443)': true,
  'obj.port > 442.5 && obj.port != -1': true,
  'obj.enabled': true,
  '!obj.enabled || obj.id == "x"': false,
  "obj.id == 'it\\'s'": true,
  'obj.id.startsWith("it") && obj.id.endsWith("s") && obj.id.contains("\'")': true,
  'obj.labels["a-b"] == "shop"': true,
  'obj.labels.other == "shop"': false,
  'has(obj.labels.other)': false,
  '"b" in obj.hosts && size(obj.hosts) == 2 && obj.hosts[0] == "a"': true,
  'obj.hosts == ["a", "b"]': true,
  'obj.routes[0].match == "/"': true,
  'obj.edge == null': true,
  'obj.edge.id == "x"': false,
  'obj.expires_at == null': true,
  'obj.expires_at < timestamp(time.now)': false,
  'obj.created_at > timestamp(time.now).subtract("2d")': true,
  'obj.created_at > timestamp("2026-11-16T13:00:00+01:00")': false,
  'timestamp(obj.created_at).add("1w") > timestamp(time.now)': true,
  'obj.created_at == obj.created_at': true,
};

suite('a filter', () => {
  for (const [text, expected] of Object.entries(RESULTS))
    test(`${text} is ${expected}`, async () => {
      assert.equal((await compileFilter(text, schema, NOW_MS))(item), expected);
    });
});

const nested = (depth: number): string => `${'('.repeat(depth)}obj.enabled${')'.repeat(depth)}`;

/** With the character at which the problem starts. */
const REJECTED: Readonly<Record<string, readonly [position: number, says: RegExp]>> = {
  '': [1, /ends too early/],
  'obj.': [5, /ends too early/],
  'obj.port == ': [13, /ends too early/],
  'obj.id == "open': [11, /./],
  'id == "x"': [1, /start with "obj\."/],
  'obj.idd == "x"': [1, /"idd" is not a field.*Did you mean "id"/],
  'obj.edge.name == "x"': [1, /"name" is not a field/],
  'obj.__proto__ == null': [1, /not a field/],
  'obj.id': [1, /true or false/],
  'obj.port == "443"': [1, /compares a number with a string/],
  'obj.port && obj.enabled': [1, /true or false/],
  'obj.id > null': [1, /compares numbers, texts and times/],
  'obj.routes == obj.routes': [1, /literal only/],
  '[obj.routes] == [obj.routes]': [2, /literals only/],
  'obj.routes in obj.routes': [1, /left side/],
  'obj.hosts.exists(h, h == "a")': [1, /"exists" is not supported/],
  'obj.hosts.all(a, obj.hosts.all(b, a == b))': [1, /"all" is not supported/],
  'obj.hosts.map(h, h) == ["a"]': [1, /"map" is not supported/],
  'obj.hosts.filter(h, true) == ["a"]': [1, /"filter" is not supported/],
  'obj.id.matches("(a+)+$")': [1, /"matches" is not supported/],
  'matches(obj.id, "(a+)+$")': [1, /"matches" is not supported/],
  'cel.bind(a, obj.id, a == "x")': [1, /not supported/],
  'obj.id + obj.id == "x"': [1, /"\+" is not supported/],
  'obj.enabled ? true : false': [1, /not supported/],
  'obj.labels == {"a": "b"}': [15, /compare its members/],
  '"x".contains(obj.id)': [1, /not supported here/],
  'obj.id.contains(obj.id)': [17, /needs one text/],
  [`obj.id.contains("${'a'.repeat(201)}")`]: [17, /at most 200 characters/],
  'obj.port.startsWith("4")': [1, /field with a text/],
  'obj.created_at > timestamp("yesterday")': [28, /RFC 3339/],
  'obj.created_at > timestamp(time.now).add("1y")': [42, /duration/],
  'time.now == time.now && time.later': [25, /unknown/],
  [nested(25)]: [25, /too large.*maxDepth/],
  [`obj.port in [${'1,'.repeat(100)}1]`]: [1, /./],
  [Array(90).fill('obj.enabled').join('&&')]: [1, /./],
};

suite('what is not a filter is rejected with its position', () => {
  for (const [text, [position, says]] of Object.entries(REJECTED))
    test(text.slice(0, 60), async () => {
      await assert.rejects(
        compileFilter(text, schema, NOW_MS),
        (error: Error & { details?: { position?: string } }) => {
          assert.match(error.message, says);
          if (text.length < 100) assert.equal(error.details?.position, String(position), error.message);
          return true;
        },
      );
    });
});

const EDGE_ID = `edghts_${'2'.repeat(27)}`;
const BACKEND_ID = `bkds_${'3'.repeat(27)}`;
const edge = {
  id: EDGE_ID,
  uri: `http://127.0.0.1:4041/edges/https/${EDGE_ID}`,
  created_at: '2026-11-19T10:00:00Z',
  hostports: ['Wiki.example.com:443'],
  routes: [{ match: '/', backend: { backend: { id: BACKEND_ID, uri: 'http://127.0.0.1:4041/backends/static/x' } } }],
};
const finds = (text: string): boolean =>
  textFilter(text, (id) => (id === BACKEND_ID ? ['10.0.0.5:8080', 'ana@example.org'] : []))(edge);

suite('a text filter', () => {
  test('finds a part of a host in any case, all words in any place, and what an item refers to', () => {
    for (const text of ['wiki', 'WIKI.EX', 'wiki 10.0.0.5', 'ana@example.org', '  ']) assert.ok(finds(text), text);
    for (const text of ['shop', 'wiki shop', '10.0.0.6']) assert.ok(!finds(text), text);
  });

  test('finds an id as a whole or by a long part, but not by what all ids, addresses and times have', () => {
    for (const text of [EDGE_ID, BACKEND_ID, EDGE_ID.slice(0, 12)]) assert.ok(finds(text), text);
    for (const text of ['edghts', 'bkds', '127.0.0.1', '2026-11']) assert.ok(!finds(text), text);
  });
});
