import assert from 'node:assert/strict';
import type { EdgeWorld } from '../../../support/edge-world.ts';

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
  let session = await world.http2(host);
  let isOver = false;
  let peak = before;
  const honest = (async (): Promise<void> => {
    do {
      assert.equal(await world.status(host, '/honest'), 200);
      // A session that was idle for too long, on a busy machine, is closed.
      if (session.closed || session.destroyed) session = await world.http2(host);
      const stream = session.request({ ':path': '/honest' });
      const [headers] = await new Promise<[Record<string, unknown>]>((resolve, reject) => {
        stream.once('response', (got) => resolve([got])).once('error', reject);
      });
      stream.resume();
      assert.equal(headers[':status'], 200);
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
    session.destroy();
  }
}
