import assert from 'node:assert/strict';
import { test } from 'node:test';
import { productFiles } from './source-files.ts';

/** Parts without foreign connections: an exception there puts the state of the process in doubt, and ends it. */
const EXEMPT = /^src\/(?:app\/cli|client\/(?!publish)|store(?!\/replica))\//;
/** The guard itself, and listeners on the process, its output and its threads. */
const EXEMPT_FILES: ReadonlySet<string> = new Set([
  'src/kit/guarded-listeners.ts',
  'src/kit/process/thread-calls.ts',
  'src/app/main/workers/worker-thread.ts',
  'src/proxy/lists/thread/list-builder.ts',
  'src/app/main/commands/agent-ports.ts',
  'src/app/main/cli.ts',
  'src/app/main/commands/server-command.ts',
  'src/kit/logging/standard-output.ts',
  'src/app/main/commands/server-command.ts',
]);
const ATTACHED = /\.(?:on|once|addListener|prependListener|prependOnceListener)\(\s*(?:['"`]|\w*[eE]vent\b)/;
/** Listeners passed to the runtime when a server is created. */
const GIVEN = /\bcreate(?:Secure)?Server\((?:[^()]|\([^()]*\))*=>/;

test('listeners are attached through the guard, which knows what to close when they throw', () => {
  const past = productFiles().filter(
    ({ path, text }) => !EXEMPT.test(path) && !EXEMPT_FILES.has(path) && (ATTACHED.test(text) || GIVEN.test(text)),
  );
  assert.deepEqual(
    past.map(({ path }) => path),
    [],
    'attach them with listen, listenOnce or listenPer of src/kit/guarded-listeners.ts',
  );
});

test('every exempt file still attaches a listener', () => {
  const unused = [...EXEMPT_FILES].filter(
    (path) => !productFiles().some((file) => file.path === path && /\.(?:on|once)\(/.test(file.text)),
  );
  assert.deepEqual(unused, []);
});
