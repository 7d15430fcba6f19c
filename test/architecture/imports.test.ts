import assert from 'node:assert/strict';
import { test } from 'node:test';
import { productFiles, type SourceFile } from './source-files.ts';

/** Which part may import which: anything not listed is rejected. A part may always import itself. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  lib: [],
  tunnel: ['lib'],
  upstream: ['lib'],
  agent: ['lib', 'tunnel', 'upstream'],
  gateway: ['lib', 'tunnel', 'edge', 'store', 'replica'],
  pki: ['lib', 'config', 'store', 'replica'],
  // Modules declare settings in their folders; config reads the rows off the registry.
  config: ['lib', 'modules'],
  logging: ['lib', 'config'],
  store: ['lib'],
  modules: ['lib', 'backends'],
  backends: ['lib', 'upstream'],
  replica: ['lib', 'store'],
  snapshot: ['lib', 'modules', 'backends', 'replica', 'store'],
  edge: ['lib', 'tunnel', 'upstream', 'snapshot', 'modules', 'backends', 'pki'],
  events: ['lib', 'store', 'replica'],
  resources: ['lib', 'modules', 'backends', 'store', 'replica', 'events', 'snapshot'],
  documents: ['lib', 'modules', 'resources', 'store', 'replica'],
  api: ['lib', 'modules', 'documents', 'resources', 'store'],
  bootstrap: ['lib', 'config', 'documents', 'resources', 'replica'],
  client: [],
  cli: ['lib', 'config', 'client', 'documents', 'resources', 'modules', 'api', 'store', 'agent', 'tunnel'],
  main: [
    'lib',
    'pki',
    'config',
    'logging',
    'bootstrap',
    'upstream',
    'store',
    'replica',
    'modules',
    'backends',
    'resources',
    'documents',
    'events',
    'snapshot',
    'edge',
    'tunnel',
    'gateway',
    'agent',
    'api',
    'cli',
    'client',
  ],
};

/** What a module may import from the modules' folder beside itself. */
const CONTRACTS = [
  'src/modules/agent-form.ts',
  'src/modules/module.ts',
  'src/modules/module-runtime.ts',
  'src/modules/prepared-module.ts',
  'src/modules/errors.ts',
];

const files = productFiles();

test('imports go only in the allowed directions', () => {
  const wrong = files.flatMap((file) =>
    file.imports
      .filter((line) => line.isOwn)
      .map((line) => [partOf(file.path), partOf(line.target), line.target] as const)
      .filter(([from, to]) => from !== to && !(ALLOWED[from] ?? []).includes(to))
      .map(([, , target]) => `${file.path} imports ${target}`),
  );
  assert.deepEqual(wrong, []);
});

test('every part of src has a row in the table of directions', () => {
  assert.deepEqual(
    [...new Set(files.map((file) => partOf(file.path)))].filter((part) => !(part in ALLOWED)),
    [],
  );
});

test('a module imports lib, the contract and itself, never another module', () => {
  const wrong = files
    .filter((file) => /^src\/modules\/[^/]+\//.test(file.path))
    .flatMap((file) => {
      const own = file.path.split('/').slice(0, 3).join('/');
      return file.imports
        .filter(
          (line) =>
            line.isOwn &&
            !line.target.startsWith(`${own}/`) &&
            !line.target.startsWith('src/lib/') &&
            !CONTRACTS.includes(line.target) &&
            !(own === 'src/modules/backend' && line.target === 'src/backends/record-kinds.ts'),
        )
        .map((line) => `${file.path} imports ${line.target}`);
    });
  assert.deepEqual(wrong, []);
});

test('store engines are named in main only', () => {
  const wrong = files
    .filter((file) => !file.path.startsWith('src/main/') && !file.path.startsWith('src/store/'))
    .filter((file) => file.imports.some((line) => /^src\/store\/(sqlite|postgres)\//.test(line.target)));
  assert.deepEqual(
    wrong.map((file) => file.path),
    [],
  );
});

test('the api knows no noun by name', () => {
  const wrong = files
    .filter((file) => file.path.startsWith('src/api/'))
    .filter((file) =>
      file.imports.some(
        (line) => /^src\/(resources|modules)\/[^/]+\//.test(line.target) || /registry\.ts$/.test(line.target),
      ),
    );
  assert.deepEqual(
    wrong.map((file) => file.path),
    [],
  );
});

test('the client has no third-party import and needs no Node', () => {
  const foreign = files
    .filter((file) => file.path.startsWith('src/client/'))
    .flatMap((file) => file.imports.filter((line) => !line.isOwn));
  assert.deepEqual(foreign, []);
});

test('there are no import cycles', () => {
  // Types are erased: a cycle through them cannot affect the order of initialization.
  const graph = new Map(
    files.map((file) => [
      file.path,
      file.imports.filter((line) => line.isOwn && !line.isTypeOnly).map((line) => line.target),
    ]),
  );
  assert.deepEqual(findCycle(graph), null);
});

function partOf(path: string): string {
  return path.split('/')[1] ?? '';
}

function findCycle(graph: ReadonlyMap<SourceFile['path'], readonly string[]>): readonly string[] | null {
  const done = new Set<string>();
  const visit = (path: string, trail: readonly string[]): readonly string[] | null => {
    if (trail.includes(path)) return [...trail.slice(trail.indexOf(path)), path];
    if (done.has(path)) return null;
    for (const target of graph.get(path) ?? []) {
      const cycle = visit(target, [...trail, path]);
      if (cycle !== null) return cycle;
    }
    done.add(path);
    return null;
  };
  for (const path of graph.keys()) {
    const cycle = visit(path, []);
    if (cycle !== null) return cycle;
  }
  return null;
}

test("no PEM text reaches the certificate library's parser, which takes exponential time", () => {
  const users = files.filter(({ text }) => /\bPemConverter\b/.test(text)).map(({ path }) => path);
  assert.deepEqual(users, [], 'use src/lib/pem-blocks.ts, or node:crypto, and give DER to @peculiar/x509');
});
