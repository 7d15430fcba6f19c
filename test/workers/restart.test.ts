// Own process: starts servers that replace each other.
import { test } from 'node:test';
import { endlessStream } from '../handover/endless-stream.ts';
import { HandoverWorld } from '../handover/handover-world.ts';

test('a connection that a worker closes after a restart is closed, although the new process was started while it was open', async (t) => {
  const world = await HandoverWorld.open(t, { env: { POSTERN_WORKERS: '2', POSTERN_SHUTDOWN_TIMEOUT: '120' } });
  const stream = await endlessStream(t, world);
  await world.handOver();
  const api = world.api();
  await api.send('DELETE', `/edges/https/${stream.edge}`);
  await stream.cut;
  api.close();
  await world.allDrained();
});
