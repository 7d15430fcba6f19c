import { test } from 'node:test';
import { restartUnderLoad } from '../nodes/drain/restart-under-load.ts';
import { nextVersion, PREVIOUS_LAUNCHER } from '../support/next-version.ts';

test(
  'a rolling restart of all nodes fails no request, and cuts no WebSocket before the drain limit',
  {
    timeout: 240_000,
  },
  (t) => restartUnderLoad(t, 3),
);

test('so does a rolling upgrade of all nodes to the next version', { timeout: 240_000 }, async (t) => {
  const { launcher } = await nextVersion('additive');
  await restartUnderLoad(t, 3, { launcherOf: () => PREVIOUS_LAUNCHER, launcher });
});
