import { test } from 'node:test';
import { restartUnderLoad } from '../nodes/drain/restart-under-load.ts';

test(
  'a rolling restart of all nodes fails no request, and cuts no WebSocket before the drain limit',
  {
    timeout: 240_000,
  },
  (t) => restartUnderLoad(t, 3),
);
