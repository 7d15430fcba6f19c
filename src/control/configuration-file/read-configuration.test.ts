import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { resources } from '../resources/registry.ts';
import { MAX_FILE_BYTES } from './format.ts';
import { validateConfiguration } from './read-configuration.ts';
import { NOT_EXPORTED, objectKind } from './sections.ts';

const REFERENCE = (text: string): string => `"$\{${text}}"`;

function problemsOf(...texts: readonly string[]): readonly string[] {
  const files = texts.map((text, at) => ({ name: `${at}.yaml`, text }));
  return validateConfiguration(files).map(({ file, line, problem }) => `${file}:${line}: ${problem}`);
}

const route = (lines: string): string =>
  `version: 1\nhttps_edges:\n  a.example.com:\n    routes:\n      /:\n        ${lines}`;

const CASES: readonly (readonly [string, string, RegExp])[] = [
  ['an empty file', '', /^0.yaml:1: is empty: start it with "version: 1"$/],
  ['a missing version', 'https_edges: {}', /^0.yaml:1: "version" is missing/],
  ['another version', 'version: 2', /^0.yaml:1: "version" must be 1/],
  ['a list', '- a', /^0.yaml:1: must be a map/],
  ['two documents', 'version: 1\n---\nversion: 1', /^0.yaml:\d: starts a second document/],
  ['broken syntax', 'version: 1\nbackends: {', /^0.yaml:\d: /],
  [
    'a key that appears twice',
    'version: 1\nip_policies:\n  a: {}\n  a: {}',
    /^0.yaml:4: has the key "a" twice \(first on line 3\)/,
  ],
  ['an unknown section', 'version: 1\nbackend: {}', /^0.yaml:2: "backend" is not a known key. Did you mean "backends"/],
  ['an anchor', 'version: 1\nip_policies: &a {}', /^0.yaml:2: has an anchor/],
  ['an alias', 'version: 1\nip_policies:\n  a: {description: *x}', /^0.yaml:3: /],
  ['a tag', 'version: 1\nip_policies: !!js/function x', /^0.yaml:2: Unresolved tag/],
  [
    'an unknown kind',
    'version: 1\nbackends:\n  a: {kind: statc}',
    /^0.yaml:3: backends > "a" has the kind "statc".*Did you mean "static"/,
  ],
  ['a missing kind', 'version: 1\nbackends:\n  a: {}', /^0.yaml:3: backends > "a" needs "kind": one of tunnel_group, /],
  [
    'an unknown field',
    'version: 1\nip_policies:\n  a:\n    metdata: x',
    /^0.yaml:4: ip_policies > "a" > metdata is not a known field. Did you mean "metadata"/,
  ],
  [
    'a field named __proto__',
    'version: 1\nip_policies:\n  a:\n    __proto__: x',
    /^0.yaml:4: ip_policies > "a" > __proto__ is not a known field/,
  ],
  ['a missing field', 'version: 1\nbackends:\n  a: {kind: static}', /^0.yaml:3: backends > "a" > address is required/],
  ['a wrong type', route('compression: {enabled: 1}'), /^0.yaml:6: .*"\/" > compression.enabled must be true or false/],
  [
    'a module without a value',
    route('compression:'),
    /^0.yaml:6: .*compression must be a map: write \{\} for its defaults/,
  ],
  ['an unknown name', route('backend: {backend: web}'), /^0.yaml:6: no object in "backends" is named "web"/],
  ['a missing reference', route('backend: {}'), /^0.yaml:6: .*backend.backend is required/],
  ['a number as a name', route('backend: {backend: 5}'), /^0.yaml:6: .*must be a name, and is "5"/],
  ['a secret in the file', route('oidc: {client_secret: planted}'), /^0.yaml:6: .*oidc.client_secret is a secret/],
  ['part of a secret', route(`oidc: {client_secret: "x$\{env:A}"}`), /^0.yaml:6: .*oidc.client_secret is a secret/],
  [
    'two logins',
    route('oidc: {}\n        oauth: {provider: {google: {client_id: a, email_domains: [b.c]}}}'),
    /^0.yaml:7: .*cannot be combined with oidc/,
  ],
  [
    'a path that is none',
    'version: 1\nhttps_edges:\n  a.example.com:\n    routes:\n      x: {}',
    /^0.yaml:5: .*"x" > match must start with "\/"/,
  ],
  [
    'a host that two edges have',
    'version: 1\nhttps_edges:\n  a.example.com: {}\n  b.example.com:\n    hostports: ["A.example.com:443"]',
    /^0.yaml:4: "b.example.com" has "a.example.com", which "a.example.com" in 0.yaml, line 3, has as well/,
  ],
  ['a bad owner', 'version: 1\nowner: "a b"', /^0.yaml:2: "owner" must be 1 to 64 letters/],
  ['a number that is none', 'version: 1\nip_policies:\n  a: {description: .nan}', /^0.yaml:3: has a value of a type/],
];

suite('a configuration file', () => {
  for (const [what, text, expected] of CASES) {
    test(`is rejected for ${what}`, () => {
      const problems = problemsOf(text);
      assert.match(problems.join('\n'), expected);
      assert.doesNotMatch(problems.join('\n'), /planted/);
    });
  }

  test('reports all problems at once, in the order of their lines', () => {
    const problems = problemsOf(
      'version: 1\nip_policies:\n  a: {metdata: x}\n  b: {rules: {nope: {action: alow}}}\nfoo: 1\n',
      'version: 1\nowner: team-b\n',
    );
    assert.deepEqual(
      problems.map((problem) => problem.split(' ')[0]),
      ['0.yaml:3:', '0.yaml:4:', '0.yaml:5:'],
    );
  });

  test('rejects a name or an owner that differs between files', () => {
    const [first, second] = problemsOf(
      'version: 1\nowner: team-a\nip_policies:\n  a: {}',
      'version: 1\nowner: team-b\nip_policies:\n  a: {}',
    );
    assert.match(first ?? '', /^1.yaml:2: "owner" is "team-b" here and "team-a" in another file/);
    assert.match(second ?? '', /^1.yaml:4: ip_policies > "a" is also in 0.yaml, line 4/);
  });

  test('may refer to what the server has, if it says that it is partial', () => {
    const files = [{ name: 'a.yaml', text: route('backend: {backend: web}') }];
    assert.equal(validateConfiguration(files).length, 1);
    assert.deepEqual(validateConfiguration(files, { isPartial: true }), []);
  });

  test('refers to objects in other files, by name or by id', () => {
    assert.deepEqual(
      problemsOf(
        route(`backend: {backend: web}\n        oidc: {client_secret: ${REFERENCE('env:A')}}`),
        'version: 1\nbackends:\n  web: {kind: weighted, backends: {bkdsc_2zXAMPLEbackendOfTheDocsAAA: 1}}',
      ),
      [],
    );
  });

  test('does not expand aliases, and survives deep nesting and large files', () => {
    const bomb = `version: 1\na0: &a0 [x]\n${Array.from({ length: 30 }, (_, at) => `a${at + 1}: &a${at + 1} [*a${at}, *a${at}]`).join('\n')}`;
    assert.ok(problemsOf(bomb).length > 30);
    assert.match(problemsOf(`version: 1\nip_policies: ${'['.repeat(20_000)}`).join('\n'), /^0.yaml:\d+: /);
    assert.match(problemsOf('#'.repeat(MAX_FILE_BYTES + 1)).join('\n'), /larger than 64 MiB/);
  });

  test('has no more objects than one change can have', () => {
    const backends = Array.from({ length: 50_001 }, (_, at) => `  b${at}: {kind: static, address: "a:1"}\n`).join('');
    assert.deepEqual(problemsOf(`version: 1\nbackends:\n${backends}`), [
      '0.yaml:1: has 50001 objects with the other files, and one change has at most 50000: use files with different owners, one after the other',
    ]);
  });
});

test('every configuration resource is in the file, or in the table of those that are not', () => {
  for (const { name, kind, type } of resources) {
    if (type === 'configuration') assert.notEqual(objectKind(kind) !== undefined, NOT_EXPORTED.has(name), name);
    else assert.equal(NOT_EXPORTED.has(name), false, name);
  }
});
