import assert from 'node:assert/strict';
import { before, suite, test } from 'node:test';
import fc from 'fast-check';
import { pathProblem } from '../../kit/http/urls.ts';
import { loadPatternEngine } from '../../kit/text/linear-pattern.ts';
import { loopProblems } from '../redirect/redirect.ts';
import { type PathRule, PathRules, ruleProblems } from './path-rules.ts';

before(() => loadPatternEngine());

const PIECES = [
  ...['/', '//', '\\', '%5c', '%2F', '%2f', '%25', '%', '.', '..', '%2e', ';', '@', ':', '?', '#', '&', '=', '$', '$$'],
  ...['$0', '$1', '$2', '$9', '$99', 'a', 'evil.example', 'https://', 'http:', '\r\n', '%0d%0a', '\t', ' ', '\0', 'ä'],
];
const text = fc.array(fc.constantFrom(...PIECES), { maxLength: 8 }).map((parts) => parts.join(''));
const start = fc.constantFrom(
  '',
  '/',
  '/x',
  'https://safe.example',
  'https://safe.example/',
  'http://safe.example:81/',
);
const pattern = fc.constantFrom('(.*)', '^/(.*)$', '^/([^/]*)(.*)$', '(.)(.)', '/(%?)(.*)', '(a)?(b)?');
const rule = fc
  .record({
    match_type: fc.constantFrom<PathRule['match_type']>('exact_path', 'path_prefix', 'regex', 'regex'),
    path: fc.oneof(fc.constantFrom('/', '/a', '/a/'), text),
    pattern,
    start,
    rest: text,
  })
  .map((each) => ({
    match_type: each.match_type,
    match: each.match_type === 'regex' ? each.pattern : each.path,
    to: each.start + each.rest,
  }));
const path = fc.oneof(
  text,
  text.map((rest) => `/${rest.replaceAll(/[\r\n\t \0ä?#]/g, '')}`),
);

suite('the work of patterns', () => {
  before(async () => loadPatternEngine());
  const heavy = (count: number, to: string): readonly PathRule[] =>
    Array.from({ length: count }, () => ({ match_type: 'regex', match: '(?:[ab]*a[ab]{65})[yz]', to }));

  test('the larger the patterns are, the shorter is the longest path that they read', () => {
    const path = `/${'a'.repeat(2_000)}`;
    for (const [count, isRefused] of [
      [1, false],
      [5, false],
      [50, true],
    ] as const)
      assert.equal(new PathRules(heavy(count, '/x'), true).find({ path, target: path })?.isValid === false, isRefused);
  });

  test('a pattern with many groups reads shorter paths, because a match copies them', () => {
    for (const [groups, length, isRefused] of [
      [10, 2_000, false],
      [90, 300, false],
      [90, 2_000, true],
    ] as const) {
      const rules = new PathRules([{ match_type: 'regex', match: `^${'(.*)'.repeat(groups)}$`, to: '/x' }], true);
      const path = `/${'a'.repeat(length)}`;
      assert.equal(rules.find({ path, target: path })?.isValid === false, isRefused, `${groups} ${length}`);
    }
  });

  test('patterns that are too large together are not compiled', () => {
    const rules = Array.from({ length: 50 }, () => ({ match_type: 'regex', match: '(?:a?){400}[', to: '/x' }) as const);
    assert.deepEqual(
      ruleProblems(rules, true).map(({ path }) => path),
      ['/rules'],
    );
  });

  test('the search for loops ends where it would take long', (context) => {
    const long = `/${'ab'.repeat(490)}`;
    const rules = [...heavy(49, `${long}?1`), { match_type: 'regex', match: '^/.*$', to: `${long}?a$0` } as const];
    assert.deepEqual(ruleProblems(rules, true), []);
    const find = context.mock.method(PathRules.prototype, 'find');
    loopProblems(rules);
    assert.ok(find.mock.callCount() <= 2, `${find.mock.callCount()} paths were tried`);
  });
});

suite('rules for paths', () => {
  test('whatever is written and sent, a result stays on the site that is written in "to"', () => {
    // Most rules are refused and most paths match none: fast-check tries others until it has this many results.
    fc.assert(
      fc.property(rule, path, fc.boolean(), (written, received, mayLeave) => {
        fc.pre(ruleProblems([written], mayLeave).length === 0 && pathProblem(received, received) === null);
        const found = new PathRules([written], mayLeave).find({ path: received, target: `${received}?q=//evil` });
        fc.pre(found?.isValid === true);
        if (found?.isValid !== true) return;
        const origin = /^https?:\/\/safe\.example[^/]*(?=\/)/.exec(written.to)?.[0] ?? null;
        assert.equal(found.origin, origin);
        const location = `${found.origin ?? 'https://this.example'}${found.target}${found.fragment}`;
        assert.match(location, /^[\x21-\x7e]+$/);
        const url = new URL(location);
        assert.equal(url.origin, origin ?? 'https://this.example');
        assert.equal(url.username + url.password, '');
        // A browser and an upstream read the path as it is: nothing is resolved.
        assert.equal(url.pathname, found.path);
        assert.doesNotMatch(found.target, /^\/[/\\]|[\r\n\\]/);
      }),
      { numRuns: 100, maxSkipsPerRun: 1_000 },
    );
  });

  test('what follows a prefix is kept as it was received', () => {
    const segment = fc.string({ unit: fc.constantFrom('a', '%41', '%2F', '%C3%A4', '+', '~', 'B'), maxLength: 6 });
    fc.assert(
      fc.property(segment, segment, (before, rest) => {
        const spelled = (spelling: string) => spelling.replaceAll('%41', 'A');
        const rules = [{ match_type: 'path_prefix', match: `/p${spelled(before)}/`, to: '/new/' }] as const;
        const received = `/%70${before}/${rest}`;
        if (ruleProblems(rules, false).length > 0 || pathProblem(received, received) !== null) return;
        assert.equal(new PathRules(rules, false).find({ path: received, target: received })?.target, `/new/${rest}`);
      }),
    );
  });

  test('patterns that are too large together are refused', () => {
    const rules = Array.from({ length: 50 }, () => ({ match_type: 'regex', match: '(ab?c){90}', to: '/' }) as const);
    assert.deepEqual(
      ruleProblems(rules, false).map((problem) => problem.path),
      ['/rules'],
    );
  });
});
