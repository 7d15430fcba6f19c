// Own process: measures memory.
import assert from 'node:assert/strict';
import { text } from 'node:stream/consumers';
import { after, suite, type TestContext, test } from 'node:test';
import { blockService, blocks, expectedHash, hashOf } from './blocks.ts';
import { TunnelProcesses } from './tunnel-processes.ts';

const MIB = 1024 * 1024;
const TOTAL = (process.env['POSTERN_TEST_LONG'] === undefined ? 128 : 2048) * MIB;
/** Heaps and buffers grow to their working size with the first megabytes. */
const WARM_UP = 32 * MIB;
/** Allowed growth of either process after that: a window that is full now and was not then, and uncollected garbage. */
const MAX_GROWTH = 96 * MIB;

const processes = await TunnelProcesses.open({ after }, await blockService({ after }));

async function flatDuring(t: TestContext, work: (total: number) => Promise<void>): Promise<void> {
  await work(WARM_UP);
  const before = { ...processes.rss(), here: process.memoryUsage().rss };
  const most = { ...before };
  const look = (): void => {
    const now = { ...processes.rss(), here: process.memoryUsage().rss };
    for (const name of ['server', 'agent', 'here'] as const) most[name] = Math.max(most[name], now[name]);
  };
  const timer = setInterval(look, 20);
  await work(TOTAL);
  clearInterval(timer);
  for (const name of ['server', 'agent', 'here'] as const) {
    const words = `${name}: from ${Math.round(before[name] / MIB)} to at most ${Math.round(most[name] / MIB)} MiB`;
    t.diagnostic(words);
    assert.ok(most[name] - before[name] < MAX_GROWTH, words);
  }
}

suite(`bodies of ${TOTAL / MIB} MiB through a tunnel, in constant memory at server, agent and client`, () => {
  test('a download', async (t) => {
    const session = await processes.session();
    await flatDuring(t, async (total) => {
      const stream = session.request({ ':path': `/${total}` });
      assert.equal(await hashOf(stream as AsyncIterable<Buffer>), expectedHash(total));
    });
    session.close();
  });

  test('an upload', async (t) => {
    const session = await processes.session();
    await flatDuring(t, async (total) => {
      const stream = session.request({ ':path': '/', ':method': 'POST' });
      blocks(total).pipe(stream);
      assert.equal(await text(stream), expectedHash(total));
    });
    session.close();
  });
});
