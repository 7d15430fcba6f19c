import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { EdgeWorkers } from '../../src/app/main/workers/edge-workers.ts';
import { until } from '../../src/kit/async/waiting.ts';
import { EdgeWorld } from '../support/edge-world.ts';

const WORKERS = 2;
const LIMIT = 25;

const world = await EdgeWorld.open({ after }, { POSTERN_WORKERS: String(WORKERS) });
const workers = world.world.server.workers as EdgeWorkers;

test('workers count in one place: exactly as many requests pass, and a worker that ends resets nobody', async () => {
  const { host, routePath } = await world.site(await world.httpResponse('ok'));
  const rate_limit = { limits: [{ limit: LIMIT, window_seconds: 3_600, key: 'route' }] };
  await world.api('PUT', `${routePath}/rate_limit`, rate_limit);
  const agents = Array.from({ length: 2 * WORKERS }, () => world.agent());
  const askAll = async (times: number): Promise<number> => {
    const answers = await Promise.all(
      agents.flatMap((agent) => Array.from({ length: times }, () => world.ask(host, '/', { agent }))),
    );
    return answers.filter(({ status }) => status === 200).length;
  };
  const left = async (): Promise<string> => {
    const { decisions } = await world.api('POST', '/explain', { url: `https://${host}/` });
    return decisions.find(({ module }: { module: string }) => module === 'rate_limit').text;
  };
  assert.match(await left(), new RegExp(`by route: ${LIMIT}\\.$`));
  assert.equal(await askAll(5), 20);
  assert.match(await left(), /by route: 5\.$/, 'the main thread reads what workers have counted');
  assert.equal(await askAll(5), LIMIT - 20);
  const counted = (await world.metrics()).match(/^postern_rate_limit_exceeded_total\{outcome="refused"\} (\d+)$/m);
  assert.equal(Number(counted?.[1]), 40 - LIMIT);
  assert.match(await left(), /Too many requests/);

  const [ended] = workers.all();
  await ended?.end();
  const isReplaced = (): boolean =>
    workers.connectionCounts.length === WORKERS &&
    workers.all().every((worker) => worker !== ended && worker.state === 'ready');
  assert(await until(isReplaced, 30_000), 'another worker is ready');
  const fresh = Array.from({ length: 2 * WORKERS }, () => world.agent());
  for (const agent of fresh) assert.equal((await world.ask(host, '/', { agent })).status, 429);
});
