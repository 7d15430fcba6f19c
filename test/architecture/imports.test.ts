import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WORKERS } from '../../tools/binary/bundle.ts';
import { consoleFiles, MODULE_CONTRACT, productFiles, type SourceFile } from './source-files.ts';

const files = productFiles();

/** Shared by the modules that log people in or judge them; not a module itself. */
const SHARED = /^src\/modules\/(login|header_changes|path_rules)\//;

test('a module imports kit, the contract, what modules share and itself, never another module', () => {
  const wrong = files
    .filter((file) => /^src\/modules\/[^/]+\//.test(file.path) && !file.path.startsWith(MODULE_CONTRACT))
    .flatMap((file) => {
      const own = file.path.split('/').slice(0, 3).join('/');
      return file.imports
        .filter(
          (line) =>
            line.isOwn &&
            !line.target.startsWith(`${own}/`) &&
            !line.target.startsWith('src/kit/') &&
            !SHARED.test(line.target) &&
            !line.target.startsWith(MODULE_CONTRACT) &&
            !(own === 'src/modules/backend' && line.target === 'src/backends/record-kinds.ts') &&
            !line.target.startsWith('src/edges/') &&
            // Shared with the resources that create links and tokens and show their use.
            !(own === 'src/modules/access' && /^src\/modules\/(guest-link|service-account)-/.test(line.target)) &&
            // Shared with the list of problems, which tells what the logins of a route cannot answer.
            !(/^src\/modules\/(access|login)$/.test(own) && line.target === 'src/modules/learned-claims.ts') &&
            // Shared with the resource that shows and checks the same lists.
            !(own === 'src/modules/mutual_tls' && line.target.startsWith('src/modules/')),
        )
        .map((line) => `${file.path} imports ${line.target}`);
    });
  assert.deepEqual(wrong, []);
});

test('the store knows of modules only the interface of logins, which it implements', () => {
  const wrong = files
    .filter((file) => file.path.startsWith('src/store/'))
    .flatMap((file) => file.imports.filter((line) => line.target.startsWith('src/modules/')))
    .filter((line) => line.target !== 'src/modules/contract/login-store.ts' || !line.isTypeOnly);
  assert.deepEqual(wrong, []);
});

test('store engines are named in main only', () => {
  const wrong = files
    .filter((file) => !file.path.startsWith('src/app/main/') && !file.path.startsWith('src/store/'))
    .filter((file) => file.imports.some((line) => /^src\/store\/(sqlite|postgres)\//.test(line.target)));
  assert.deepEqual(
    wrong.map((file) => file.path),
    [],
  );
});

test('the gateway and the protocol of agents know of the edge only the contracts between them', () => {
  const contracts = ['src/proxy/edge/tunnels/online-tunnels.ts', 'src/proxy/edge/tunnels/endpoints.ts'];
  // Files with values import nothing themselves.
  const values = ['src/proxy/edge/tunnels/stream-headers.ts', 'src/proxy/edge/tunnels/tunnel-use.ts'];
  const wrong = files
    .filter((file) => /^src\/tunnel\/(gateway|protocol)\//.test(file.path))
    .flatMap((file) => file.imports.filter(({ target }) => target.startsWith('src/proxy/edge/')))
    .filter(({ target, isTypeOnly }) => !values.includes(target) && !(isTypeOnly && contracts.includes(target)));
  assert.deepEqual(wrong, []);
  assert.deepEqual(
    files.filter(({ path, imports }) => values.includes(path) && imports.length > 0),
    [],
  );
});

test('the api knows no noun by name', () => {
  const wrong = files
    .filter((file) => file.path.startsWith('src/control/api/'))
    .filter((file) =>
      file.imports.some(
        ({ target }) =>
          (/^src\/(control\/resources|modules)\/[^/]+\//.test(target) && !target.startsWith(MODULE_CONTRACT)) ||
          /registry\.ts$/.test(target),
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

/** Circles that stay, types counted: the folder that each stands in, its files below it, and the reason. */
const CIRCLES: readonly (readonly [folder: string, files: readonly string[], reason: string])[] = [
  [
    'src/control/resources/',
    ['operation.ts', 'ports.ts', 'resource.ts'],
    'a resource has operations, an operation runs on the documents, and they write what a resource wants beside itself',
  ],
  [
    'src/modules/login/',
    ['flow/login-flow.ts', 'flow/logout.ts', 'login-on-route.ts', 'login-runtime.ts', 'sessions/record-session.ts'],
    'the paths of a login use what all routes share, which serves the paths',
  ],
  [
    'src/proxy/edge/',
    [
      'answers/answer-or-cut.ts',
      'edge-runtime.ts',
      'exchange/ask-steps.ts',
      'exchange/exchange.ts',
      'exchange/own-paths.ts',
      'forwarding/forwarding.ts',
      'forwarding/request-changes.ts',
    ],
    'one exchange in steps: each step continues the exchange, which starts the steps',
  ],
  [
    'src/proxy/edge/http/',
    ['http2-client.ts', 'http2-response-writer.ts'],
    'a connection judges the progress of its responses, and each of them depends on the progress of the connection',
  ],
];

/** Types count: who reads one file of a circle must read all of it. */
test('files import each other in circles only where a reason says why', () => {
  const found = circlesIn([...files, ...consoleFiles()]);
  assert.deepEqual(
    found.map((circle) => circle.join(' ')),
    CIRCLES.map(([folder, names]) => names.map((name) => `${folder}${name}`).join(' ')),
    'move the declaration that closes the circle to the file that it belongs to',
  );
});

test('no circle decides the order in which files are initialized', () => {
  // Types are erased.
  const graph = new Map(
    files.map((file) => [
      file.path,
      file.imports.filter((line) => line.isOwn && !line.isTypeOnly).map((line) => line.target),
    ]),
  );
  assert.deepEqual(findCycle(graph), null);
});

/** Each in the order of its paths. */
function circlesIn(sources: readonly SourceFile[]): readonly (readonly string[])[] {
  const targets = new Map(sources.map(({ path, imports }) => [path, imports.map(({ target }) => target)]));
  const reachedOf = new Map([...targets.keys()].map((path) => [path, reachedBy(path, targets)]));
  const circles = new Set<string>();
  for (const [path, reached] of reachedOf) {
    if (!reached.has(path)) continue;
    const others = [...reached].filter((other) => reachedOf.get(other)?.has(path));
    circles.add(others.sort().join(' '));
  }
  return [...circles].sort().map((circle) => circle.split(' '));
}

/** All that a file imports, and itself if it stands in a circle. */
function reachedBy(path: string, targets: ReadonlyMap<string, readonly string[]>): ReadonlySet<string> {
  const reached = new Set<string>();
  const waiting = [...(targets.get(path) ?? [])];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (reached.has(next)) continue;
    reached.add(next);
    waiting.push(...(targets.get(next) ?? []));
  }
  return reached;
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
  assert.deepEqual(users, [], 'use src/kit/pki/pem-blocks.ts, or node:crypto, and give DER to @peculiar/x509');
});

test('program files are read through kit/program-files.ts, which also finds them inside the single executable', () => {
  const wrong = files.filter(
    ({ path, text }) => path !== 'src/kit/program-files.ts' && /\bimport\.meta\.(url|dirname|filename)\b/.test(text),
  );
  assert.deepEqual(
    wrong.map((file) => file.path),
    [],
  );
});

test('every thread of the program is embedded in the single executable', () => {
  const started = files.flatMap(({ text }) =>
    Array.from(text.matchAll(/startProgramWorker\('([^']+)'/g), ([, path = '']) => path),
  );
  assert.ok(started.length > 0);
  assert.deepEqual([...new Set(started)].sort(), [...WORKERS].sort(), 'list it in tools/binary/bundle.ts');
});
