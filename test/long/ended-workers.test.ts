import { after, test } from 'node:test';
import { EdgeWorld } from '../support/edge-world.ts';
import { EndingLoop } from '../workers/ending-loop.ts';

const ROUNDS = 100;

const world = await EdgeWorld.open({ after }, { POSTERN_WORKERS: '3' });

test(`${ROUNDS} workers that end under load answer nothing wrong, and no write is lost`, async (t) => {
  const loop = await EndingLoop.open(world);
  const { answers, lost, writes } = await loop.run(ROUNDS);
  t.diagnostic(`${answers} answers, ${lost} lost connections, ${writes} writes`);
});
