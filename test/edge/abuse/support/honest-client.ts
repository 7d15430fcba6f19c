import assert from 'node:assert/strict';
import type { EdgeWorld } from '../../../support/edge-world.ts';
import { HonestHttp2 } from './honest-http2.ts';

const MB = 1 << 20;

/** Allowed growth of this process, the edge and its attackers together. Successful attacks take hundreds. */
const MOST_MORE_BYTES = 96 * MB;

/**
 * Another client, on its own connections, that sends requests for as long as `attack` lasts: each response must be
 * right, and memory must not grow. Over both protocols, since each takes a different path through the edge.
 */
export async function meanwhileServed<Result>(
  world: EdgeWorld,
  host: string,
  attack: () => Promise<Result>,
  mostMoreBytes = MOST_MORE_BYTES,
): Promise<Result> {
  const before = process.memoryUsage.rss();
  const http2 = new HonestHttp2(() => world.http2(host));
  let isOver = false;
  let peak = before;
  const honest = (async (): Promise<void> => {
    do {
      assert.equal(await world.status(host, '/honest'), 200);
      assert.equal(await http2.status('/honest'), 200);
      peak = Math.max(peak, process.memoryUsage.rss());
      await new Promise((resolve) => setTimeout(resolve, 50));
    } while (!isOver);
  })();
  try {
    const [result] = await Promise.all([
      attack().finally(() => {
        isOver = true;
      }),
      honest,
    ]);
    assert.ok(peak - before < mostMoreBytes, `${Math.round((peak - before) / MB)} MB more`);
    return result;
  } finally {
    http2.close();
  }
}
