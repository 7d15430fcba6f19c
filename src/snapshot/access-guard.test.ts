import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { readPath } from './canonical-path.ts';
import { type MatchableRoute, RouteTable } from './route-table.ts';

const HOST = 'app.example';

/** What upstreams do to a decoded path, written in another way than the guard's own steps. A byte a character. */
const HABITS: readonly ((path: string) => string)[] = [
  (path) => percentDecoded(path),
  (path) => path.split('%2F').join('/').split('\\').join('/'),
  (path) => perSegment(path, (name) => name.split(';')[0] as string),
  (path) => path.split('?')[0]?.split('#')[0]?.split('\0')[0] || '/',
  (path) => perSegment(path, (name) => (name === '.' || name === '..' ? name : trimmed(name))),
  (path) => `/${path.split('/').filter(Boolean).join('/')}${/.\/$/.test(path) ? '/' : ''}`,
  (path) => new URL(`http://x${path.replaceAll(/[^!-~]|[?#%\\]/g, escaped)}`).pathname.replaceAll(/%(..)/g, unescaped),
  (path) => 'a b A B / . ; %'.split(' ').reduce((text, letter) => text.split(fullWidth(letter)).join(letter), path),
  (path) => 'a b A B / . ; %'.split(' ').reduce((text, letter) => text.split(overlong(letter)).join(letter), path),
];

interface Upstream {
  readonly habits: readonly number[];
  readonly ignoresCase: boolean;
  readonly ignoresSlash: boolean;
}

function pageOf(path: string, { habits, ignoresCase, ignoresSlash }: Upstream): string {
  let page = path.replaceAll(/%(?!2f)(..)/gi, unescaped).replaceAll(/%2f/gi, '%2F');
  for (const habit of habits) page = HABITS[habit]?.(page) as string;
  if (ignoresCase) page = page.toUpperCase();
  return ignoresSlash ? page.replace(/(?<=.)\/$/, '') : page;
}

function perSegment(path: string, change: (name: string) => string): string {
  return path.split('/').map(change).join('/');
}

function trimmed(name: string): string {
  let text = name;
  while (text.endsWith('.') || text.endsWith(' ')) text = text.slice(0, -1);
  return text;
}

function percentDecoded(text: string): string {
  return text.replaceAll(/%([0-9a-f]{2})/gi, unescaped);
}

function unescaped(_all: string, hex: string): string {
  return String.fromCharCode(Number.parseInt(hex, 16));
}

function escaped(byte: string): string {
  return `%${byte.charCodeAt(0).toString(16).padStart(2, '0')}`;
}

function fullWidth(letter: string): string {
  return Buffer.from(String.fromCharCode(letter.charCodeAt(0) + 0xfee0)).toString('latin1');
}

function overlong(letter: string): string {
  const code = letter.charCodeAt(0);
  return String.fromCharCode(0xc0 | (code >> 6), 0x80 | (code & 0x3f));
}

const upstreams: fc.Arbitrary<Upstream> = fc.record({
  habits: fc.array(fc.nat(HABITS.length - 1), { maxLength: 5 }),
  ignoresCase: fc.boolean(),
  ignoresSlash: fc.boolean(),
});
const routes: fc.Arbitrary<MatchableRoute[]> = fc.uniqueArray(
  fc.record({
    match: fc.constantFrom('/', '/a', '/A', '/a/', '/a/b', '/a/B/', '/b', '/ab', '/a.b', '/a%20b'),
    matchType: fc.constantFrom('exact_path' as const, 'path_prefix' as const),
    access: fc.constantFrom('', 'login'),
  }),
  { minLength: 2, maxLength: 6, selector: ({ match, matchType }) => `${matchType} ${match}` },
);
const letters = fc.constantFrom(
  'a',
  'a',
  'b',
  'A',
  '%61',
  '%41',
  '%2561',
  '%252561',
  '%c1%a1',
  '%ef%bd%81',
  '%25c1%25a1',
);
const oddities = fc.constantFrom(
  ...['', '', '', '/', '%2f', '%252f', '%255c', '.', '%20', '%2e', ';x', '%3b', '%253b', '%3f', '%2523', '%2500'],
  ...['/%252e%252e/', '/..%2520/', '/%ef%bc%8e%c0%ae/', '%c0%af', '%ef%bc%8f'],
);
const paths = fc
  .array(fc.tuple(letters, oddities, fc.constantFrom('', '', '/')), { minLength: 1, maxLength: 3 })
  .map((parts) => `/${parts.flat().join('')}`);

suite('access guard', () => {
  test('all spellings of one page that pass have passed the same access rules', () => {
    let passed = 0;
    let compared = 0;
    fc.assert(
      fc.property(
        routes,
        fc.array(paths, { minLength: 20, maxLength: 40 }),
        fc.array(upstreams, { minLength: 8, maxLength: 8 }),
        (all, spellings, kinds) => {
          const table = new RouteTable([...all, { match: '/', matchType: 'path_prefix', access: '' }]);
          const through = spellings.flatMap((spelling) => {
            const reading = readPath(spelling);
            const found = reading.ok ? table.match(reading.path, HOST).found : null;
            return found === null ? [] : [{ spelling, access: found.access }];
          });
          passed += through.length;
          for (const upstream of kinds) {
            const pages = Map.groupBy(through, ({ spelling }) => pageOf(spelling, upstream));
            for (const [page, group] of pages) {
              compared += group.length - 1;
              const rules = new Set(group.map(({ access }) => access));
              assert.equal(
                rules.size,
                1,
                `${page} is reached by ${group.map(({ spelling }) => spelling).join(' and ')}`,
              );
            }
          }
        },
      ),
      { numRuns: 300 },
    );
    assert.ok(passed > 1000 && compared > 1000, `${passed} passed and ${compared} were compared`);
  });

  test('every plain path of a table without twins goes where it goes without the guard', () => {
    const plain = fc
      .array(fc.constantFrom('a', 'b', 'ab', 'abc'), { maxLength: 3 })
      .map((names) => `/${names.join('/')}`);
    const tables = fc.uniqueArray(fc.record({ match: plain, access: fc.constantFrom('', 'login') }), {
      selector: ({ match }) => match,
      maxLength: 6,
    });
    fc.assert(
      fc.property(tables, plain, (all, path) => {
        const made = all.map((route) => ({ ...route, matchType: 'path_prefix' as const }));
        const unguarded = made.map((route) => ({ ...route, access: '', id: route }));
        const reading = readPath(path);
        assert.ok(reading.ok);
        const expected = new RouteTable(unguarded).match(reading.path, HOST).found?.id ?? null;
        assert.equal(new RouteTable(made).match(reading.path, HOST).found, expected);
      }),
      { numRuns: 500 },
    );
  });
});
