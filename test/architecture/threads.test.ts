import assert from 'node:assert/strict';
import { test } from 'node:test';
import { productFiles, reachedFrom } from './source-files.ts';

const WORKER = 'src/main/workers/thread/edge-worker.ts';

/** What a worker runs, beside parts without a state of the installation. */
const OF_WORKERS = [
  'src/main/workers/thread/',
  'src/main/workers/worker-protocol.ts',
  'src/main/workers/board.ts',
  'src/main/data-plane/',
  'src/main/version.ts',
  'src/gateway/agent-connection.ts',
  'src/gateway/agent-handshakes.ts',
  'src/nodes/channel/',
  'src/nodes/hop/',
  'src/nodes/links/feeds.ts',
  'src/nodes/links/served-calls.ts',
  'src/nodes/links/incoming-link.ts',
  'src/nodes/links/outgoing-link.ts',
  'src/nodes/links/peer-',
  'src/store/errors.ts',
  'src/store/keyring.ts',
  'src/store/store.ts',
  'src/events/traffic-events.ts',
  'src/events/event-recorder.ts',
  'src/documents/long-answer.ts',
  'src/documents/kind-of-id.ts',
  'src/lists/known-lists.ts',
  'src/config/identity-settings.ts',
  'src/identity/own-fetch.ts',
  'src/identity/people-records.ts',
];
const OF_ANY_THREAD =
  /^src\/(backends|edge|lib|logging|modules|pki|replica|revocation|snapshot|telemetry|tracing|tunnel|upstream)\//;

test('a worker reaches no store, no API, no session of an agent and no other part that only the main thread may run', () => {
  const reached = reachedFrom(productFiles(), [WORKER]);
  assert.ok(reached.has('src/edge/edge.ts'), 'it must reach the edge');
  assert.deepEqual(
    [...reached].filter(
      (path) => !OF_ANY_THREAD.test(path) && OF_WORKERS.every((allowed) => !path.startsWith(allowed)),
    ),
    [],
  );
});

test('only a worker runs what is in its folder', () => {
  const outside = productFiles().filter(({ path }) => !path.startsWith('src/main/workers/thread/'));
  const wrong = outside.flatMap(({ path, imports }) =>
    imports
      .filter(({ target, isTypeOnly }) => target.startsWith('src/main/workers/thread/') && !isTypeOnly)
      .map(({ target }) => `${path} imports ${target}`),
  );
  assert.deepEqual(wrong, []);
});
