import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { readPath } from '../../kit/http/canonical-path.ts';
import { RouteTable } from '../../proxy/snapshot/route-table.ts';
import { httpsRoutes, matchProblem } from './https-routes.ts';

/** Path fragments that programs interpret differently, and plain ones. */
const pieces = fc.constantFrom(
  ...[
    '/',
    '//',
    '.',
    '..',
    ';',
    '%3b',
    '%3B',
    '%2f',
    '%2F',
    '%2e',
    '%5C',
    '\\',
    '%00',
    '%09',
    '%1f',
    '%7F',
    '%20',
    '%c3',
  ],
  ...['a', 'B', '%41', '-', '~', '*', ':', '@', '%', '%g0', ' ', 'ä', '?', '#'],
);
const matches = fc
  .array(fc.oneof({ weight: 3, arbitrary: fc.constantFrom('/', 'a', 'b', '%20', '.') }, pieces), { maxLength: 8 })
  .map((parts) => `/${parts.join('')}`);

test('a request for an accepted path matches it', () => {
  fc.assert(
    fc.property(matches, fc.constantFrom('exact_path' as const, 'path_prefix' as const), (match, matchType) => {
      fc.pre(matchProblem(match) === null);
      const reading = readPath(match);
      assert.ok(reading.ok, match);
      const route = { match, matchType, access: '', pathReader: null };
      assert.equal(new RouteTable([route]).match(reading.path, 'a.example').found, route, match);
    }),
    { numRuns: 500, maxSkipsPerRun: 1000 },
  );
});

test('no request matches a rejected path', () => {
  fc.assert(
    fc.property(matches, fc.array(pieces, { maxLength: 4 }), (match, rest) => {
      // A query ends the path, so these would be read as shorter paths.
      if (matchProblem(match) === null || /[?#]/.test(match)) return;
      const reading = readPath(`${match}${rest.join('')}`);
      if (!reading.ok || reading.path.path.length < match.length) return;
      const found = new RouteTable([{ match, matchType: 'path_prefix' as const, access: '', pathReader: null }]).match(
        reading.path,
        'a.example',
      ).found;
      // "/." alone is a dot segment; only longer names that start with it could match.
      if (!/(^|\/|%2f)(\.|%2e){1,2}$/i.test(match) && !/%.?$/.test(match)) assert.equal(found, null, match);
    }),
    { numRuns: 3000 },
  );
});

for (const match of [
  '/%09',
  '/a/..%09',
  '/;',
  '/a/;b',
  '/a;b',
  '/a%3Bb',
  '/a%2Fb',
  '/a%2f%2fb',
  '/..;/a',
  '/%7F',
  '/a/',
]) {
  test(`${match} is ${match === '/a/' ? 'taken' : 'refused'}`, () => {
    assert.equal(matchProblem(match) === null, match === '/a/');
  });
}

test('treats two spellings of one path as one route', () => {
  const keyOf = (match: string) => httpsRoutes.keyOf({ match, match_type: 'exact_path' } as never);
  assert.equal(keyOf('/%41%c3'), keyOf('/A%C3'));
  assert.notEqual(keyOf('/A'), keyOf('/a'));
});
