import { test } from 'node:test';
import { restartUnderLoad } from './restart-under-load.ts';

test(
  'a restart of a node fails no request, and cuts no WebSocket before the drain limit',
  {
    timeout: 240_000,
  },
  (t) => restartUnderLoad(t, 1),
);
