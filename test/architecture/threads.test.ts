import assert from 'node:assert/strict';
import { test } from 'node:test';
import { productFiles, reachedFrom } from './source-files.ts';

const WORKER = 'src/app/main/workers/thread/edge-worker.ts';

/** What a worker runs, beside parts without a state of the installation. */
const OF_WORKERS = [
  'src/app/main/workers/thread/',
  'src/app/main/workers/worker-protocol.ts',
  'src/app/main/workers/shared-status.ts',
  'src/app/main/data-plane/',
  'src/app/main/version.ts',
  'src/tunnel/gateway/agent-connection.ts',
  'src/tunnel/gateway/agent-handshakes.ts',
  'src/tunnel/nodes/channel/',
  'src/tunnel/nodes/hop/',
  'src/tunnel/nodes/links/feeds.ts',
  'src/tunnel/nodes/links/served-calls.ts',
  'src/tunnel/nodes/links/incoming-link.ts',
  'src/tunnel/nodes/links/outgoing-link.ts',
  'src/tunnel/nodes/links/peer-',
  'src/store/errors.ts',
  'src/store/keyring.ts',
  'src/store/store.ts',
  'src/control/events/event-recorder.ts',
  'src/control/events/event-recorder.ts',
  'src/control/documents/long-answer.ts',
  'src/control/documents/kind-of-id.ts',
  'src/proxy/lists/known-lists.ts',
  'src/control/identity/contracts.ts',
  'src/control/identity/own-fetch.ts',
  'src/control/identity/people-records.ts',
];
const OF_ANY_THREAD =
  /^src\/(backends|edges|kit|modules|proxy\/(edge|pki|snapshot|telemetry|tracing|upstream)|store\/replica|tunnel\/protocol)\//;

test('a worker reaches no store, no API, no session of an agent and no other part that only the main thread may run', () => {
  const reached = reachedFrom(productFiles(), [WORKER]);
  assert.ok(reached.has('src/proxy/edge/edge.ts'), 'it must reach the edge');
  assert.deepEqual(
    [...reached].filter(
      (path) => !OF_ANY_THREAD.test(path) && OF_WORKERS.every((allowed) => !path.startsWith(allowed)),
    ),
    [],
  );
});

test('only a worker runs what is in its folder', () => {
  const outside = productFiles().filter(({ path }) => !path.startsWith('src/app/main/workers/thread/'));
  const wrong = outside.flatMap(({ path, imports }) =>
    imports
      .filter(({ target, isTypeOnly }) => target.startsWith('src/app/main/workers/thread/') && !isTypeOnly)
      .map(({ target }) => `${path} imports ${target}`),
  );
  assert.deepEqual(wrong, []);
});
