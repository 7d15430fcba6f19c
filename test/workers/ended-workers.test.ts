import { after, test } from 'node:test';
import { EdgeWorld } from '../support/edge-world.ts';
import { EndingLoop } from './ending-loop.ts';

const world = await EdgeWorld.open({ after }, { POSTERN_WORKERS: '2' });

test('workers that end under load answer nothing wrong, and no write is lost', async () => {
  const loop = await EndingLoop.open(world);
  await loop.run(4);
});
