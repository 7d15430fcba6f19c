import { test } from 'node:test';
import { restartUnderLoad } from '../nodes/drain/restart-under-load.ts';
import { LINKED_VERSION, unpackProgram } from '../support/program-fixture.ts';
import { tempDir } from '../support/temp-dir.ts';

test(
  'a rolling restart of all nodes fails no request, and cuts no WebSocket before the drain limit',
  {
    timeout: 240_000,
  },
  (t) => restartUnderLoad(t, 3),
);

test(`so does a rolling upgrade of all nodes from commit ${LINKED_VERSION}`, { timeout: 240_000 }, async (t) => {
  const launcher = unpackProgram(LINKED_VERSION, await tempDir(t));
  await restartUnderLoad(t, 3, { launcherOf: () => launcher });
});
