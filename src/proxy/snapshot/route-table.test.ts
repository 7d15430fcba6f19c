import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { readPath } from '../../kit/http/canonical-path.ts';
import { type MatchableRoute, RouteTable } from './route-table.ts';

const HOST = 'app.example';
const RUNS = process.env['POSTERN_TEST_LONG'] === undefined ? 900 : 20_000;

/**
 * Transformations that upstreams apply to a decoded path, written differently from the guard's own steps. One byte per
 * character.
 */
const HABITS: readonly ((path: string) => string)[] = [
  (path) => percentDecoded(path),
  (path) => path.split('%2F').join('/'),
  (path) => path.split('\\').join('/'),
  (path) => perSegment(path, (name) => name.split(';')[0] as string),
  (path) => path.split('?')[0] || '/',
  (path) => path.split('#')[0] || '/',
  (path) => path.split('\0')[0] || '/',
  (path) => perSegment(path, (name) => (name === '.' || name === '..' ? name : trimmed(name))),
  (path) => `/${path.split('/').filter(Boolean).join('/')}${/.\/$/.test(path) ? '/' : ''}`,
  (path) => new URL(`http://x${path.replaceAll(/[^!-~]|[?#%\\]/g, escaped)}`).pathname.replaceAll(/%(..)/g, unescaped),
  (path) => hostless(path),
  (path) => (path.startsWith('/a/') ? `/a${hostless(path.slice(2))}` : path),
  (path) => path.split(String.fromCharCode(10))[0] || '/',
  (path) => 'a b A B / . ; %'.split(' ').reduce((text, letter) => text.split(fullWidth(letter)).join(letter), path),
  (path) => 'a b A B / . ; %'.split(' ').reduce((text, letter) => withoutOverlong(text, letter), path),
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

/** As a program that resolves the path as a relative URL: "//host/page" names a host. */
function hostless(path: string): string {
  const text = path.replaceAll(/[^!-~]|[?#%]/g, escaped);
  return URL.canParse(text, 'http://x') ? new URL(text, 'http://x').pathname.replaceAll(/%(..)/g, unescaped) : path;
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

function withoutOverlong(text: string, letter: string): string {
  return [2, 3, 4, 5, 6].reduce((rest, length) => rest.split(overlong(letter, length)).join(letter), text);
}

/** Zero bits in front of the six bits of each continuation byte, in as many bytes as the length says. */
function overlong(letter: string, length: number): string {
  const bits = letter
    .charCodeAt(0)
    .toString(2)
    .padStart(6 * length - 6, '0');
  const lead = (0xff00 >> length) & 0xff;
  const first = lead | Number.parseInt(bits.slice(0, -6 * (length - 1)) || '0', 2);
  const further = bits.slice(-6 * (length - 1)).match(/.{6}/g) ?? [];
  return String.fromCharCode(first, ...further.map((six) => 0x80 | Number.parseInt(six, 2)));
}

const upstreams: fc.Arbitrary<Upstream> = fc.record({
  habits: fc.array(fc.nat(HABITS.length - 1), { maxLength: 5 }),
  ignoresCase: fc.boolean(),
  ignoresSlash: fc.boolean(),
});
const isAtRoot = ({ match, matchType }: MatchableRoute): boolean => match === '/' && matchType === 'path_prefix';
const anyRoutes: fc.Arbitrary<MatchableRoute[]> = fc.uniqueArray(
  fc.record({
    match: fc.constantFrom('/', '/a', '/A', '/a/', '/a/b', '/a/B/', '/b', '/ab', '/a.b', '/a%20b'),
    matchType: fc.constantFrom('exact_path' as const, 'path_prefix' as const),
    access: fc.constantFrom('', 'login'),
    pathReader: fc.constantFrom(null, null, 'rewrite'),
  }),
  { minLength: 2, maxLength: 6, selector: ({ match, matchType }) => `${matchType} ${match}` },
);
/** An exact path and a prefix that differ only in case and slash, with different access rules. */
const twins: fc.Arbitrary<MatchableRoute[]> = fc
  .tuple(fc.constantFrom('/a', '/A', '/a/'), fc.constantFrom('/a', '/A', '/a/', '/A/'), fc.boolean())
  .map(([exact, prefix, isOpen]) => [
    { match: exact, matchType: 'exact_path', access: isOpen ? '' : 'login', pathReader: null },
    { match: prefix, matchType: 'path_prefix', access: isOpen ? 'login' : '', pathReader: null },
  ]);
const root = fc.constantFrom<MatchableRoute[]>(
  [{ match: '/', matchType: 'path_prefix', access: '', pathReader: null }],
  [{ match: '/', matchType: 'path_prefix', access: 'login', pathReader: null }],
  [],
);
const routes = fc
  .tuple(fc.oneof(anyRoutes, twins), root)
  .map(([all, [atRoot]]) => (atRoot === undefined || all.some(isAtRoot) ? all : [...all, atRoot]));
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
  '%f8%80%80%81%a1',
  '%fc%2580%80%80%2581%a1',
);
const oddities = fc.constantFrom(
  ...['', '', '', '/', '%2f', '%252f', '%255c', '.', '%20', '%2e', ';x', '%3b', '%253b', '%3f', '%2523', '%2500'],
  ...['//', '//x/', '%2f%2f', '%5c', '/%5c', '%0a', '%09', '/./', '/.;y/', '/;x/', '%0d%0a'],
  ...['/%252e%252e/', '/..%2520/', '/%ef%bc%8e%c0%ae/', '%c0%af', '%ef%bc%8f'],
);
const paths = fc
  .array(fc.tuple(letters, oddities, fc.constantFrom('', '', '/')), { minLength: 1, maxLength: 3 })
  .map((parts) => `/${parts.flat().join('')}`);

/** The routes of a path in a table that may ignore case: several, if they differ only in case. */
function routesOfPage(page: string, all: readonly MatchableRoute[], ignoresCase: boolean): readonly MatchableRoute[] {
  const same = (text: string): string => (ignoresCase ? text.toUpperCase() : text);
  const keyOf = ({ match }: MatchableRoute): string => same(match.replaceAll(/%(..)/g, unescaped));
  const exact = all.filter((route) => route.matchType === 'exact_path' && keyOf(route) === same(page));
  if (exact.length > 0) return exact;
  const prefixes = all.filter((route) => route.matchType === 'path_prefix' && same(page).startsWith(keyOf(route)));
  const longest = Math.max(...prefixes.map((route) => keyOf(route).length));
  return prefixes.filter((route) => keyOf(route).length === longest);
}

interface Passed {
  readonly spelling: string;
  readonly access: string;
}

function passedOf(spellings: readonly string[], all: readonly MatchableRoute[]): readonly Passed[] {
  const table = new RouteTable(all);
  return spellings.flatMap((spelling) => {
    const reading = readPath(spelling);
    const found = reading.ok ? table.match(reading.path, HOST).found : null;
    return found === null ? [] : [{ spelling, access: found.access }];
  });
}

const manyPaths = fc.array(paths, { minLength: 20, maxLength: 40 });
const manyUpstreams = fc.array(upstreams, { minLength: 8, maxLength: 8 });
const differ = (all: readonly MatchableRoute[]): boolean => new Set(all.map(({ access }) => access)).size > 1;

suite('access guard', () => {
  test('all accepted spellings of one page have passed the same access rules', () => {
    let passed = 0;
    let compared = 0;
    fc.assert(
      fc.property(routes.filter(differ), manyPaths, manyUpstreams, (all, spellings, kinds) => {
        const through = passedOf(spellings, all);
        passed += through.length;
        for (const upstream of kinds) {
          for (const [page, group] of Map.groupBy(through, ({ spelling }) => pageOf(spelling, upstream))) {
            compared += group.length - 1;
            const rules = new Set(group.map(({ access }) => access));
            const names = group.map(({ spelling }) => spelling).join(' and ');
            assert.equal(rules.size, 1, `${page} is reached by ${names}`);
          }
        }
      }),
      { numRuns: RUNS },
    );
    assert.ok(passed > 1000 && compared > 200, `${passed} passed and ${compared} were compared`);
  });

  test('an accepted spelling has passed the access rules of its page itself', () => {
    let compared = 0;
    fc.assert(
      fc.property(routes.filter(differ), manyPaths, manyUpstreams, (all, spellings, kinds) => {
        for (const { spelling, access } of passedOf(spellings, all)) {
          for (const upstream of kinds) {
            const page = pageOf(spelling, { ...upstream, ignoresSlash: false });
            for (const route of routesOfPage(page, all, upstream.ignoresCase)) {
              compared += 1;
              assert.equal(
                access,
                route.access,
                `${spelling} is ${page}, which is of ${route.matchType} ${route.match}`,
              );
            }
          }
        }
      }),
      { numRuns: RUNS },
    );
    assert.ok(compared > 1000, `${compared} were compared`);
  });

  test('an odd path that passes leads to its route under every reading, and no odd path passes where something reads paths', () => {
    let passed = 0;
    let refused = 0;
    fc.assert(
      fc.property(routes, manyPaths, manyUpstreams, (all, spellings, kinds) => {
        const table = new RouteTable(all);
        for (const spelling of spellings) {
          const reading = readPath(spelling);
          if (!reading.ok || reading.path.odd === null) continue;
          const match = table.match(reading.path, HOST);
          if (match.found === null) {
            refused += 1;
            continue;
          }
          passed += 1;
          assert.equal(match.found.pathReader, null, spelling);
          for (const upstream of kinds) {
            const page = pageOf(spelling, { ...upstream, ignoresSlash: false });
            assert.doesNotMatch(page, /\/\.\.(?:\/|$)/, `${spelling} climbs as ${page}`);
            for (const route of routesOfPage(page, all, upstream.ignoresCase)) {
              assert.equal(match.found, route, `${spelling} is ${page}, which is of ${route.matchType} ${route.match}`);
            }
          }
        }
      }),
      { numRuns: RUNS },
    );
    assert.ok(passed > 300 && refused > 300, `${passed} passed and ${refused} were refused`);
  });

  test('a plain path in a table without twins matches the same route as without the guard', () => {
    const plain = fc
      .array(fc.constantFrom('a', 'b', 'ab', 'abc'), { maxLength: 3 })
      .map((names) => `/${names.join('/')}`);
    const tables = fc.uniqueArray(fc.record({ match: plain, access: fc.constantFrom('', 'login') }), {
      selector: ({ match }) => match,
      maxLength: 6,
    });
    fc.assert(
      fc.property(tables, plain, (all, path) => {
        const made = all.map((route) => ({ ...route, matchType: 'path_prefix' as const, pathReader: null }));
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
