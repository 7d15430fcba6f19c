// Own process: measures memory.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { startInspector } from '../../../src/tunnel/agent/inspector/index.ts';
import { isLong } from '../../support/share-of-cases.ts';

const REQUESTS = isLong ? 10_000 : 3_000;
const MAX_TOTAL_BYTES = 16 * 1_048_576;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Garbage found by the first collection counts as free in the second. */
async function collectAll(): Promise<void> {
  collect();
  await nextTurn();
  collect();
}

test(`${REQUESTS} requests with bodies stay within the limit`, async (context) => {
  const inspector = await startInspector({
    listen: { port: 0 },
    maxTotalBytes: MAX_TOTAL_BYTES,
    tunnels: () => [],
    status: () => null,
  });
  context.after(() => inspector.close());
  await collectAll();
  const before = process.memoryUsage();
  const headers = ['content-type', 'text/plain', 'x-filler', 'f'.repeat(500)];
  const underWay: unknown[] = [];
  let peak = 0;
  for (let count = 0; count < REQUESTS; count += 1) {
    const exchange = inspector.observe({
      tunnel: { ref: 0, name: 'web' },
      method: 'POST',
      target: `/${count}`,
      authority: 'app.example.com',
      headers: [...headers],
      contentLength: null,
    });
    // As a socket delivers them: small slices of large blocks.
    const block = Buffer.allocUnsafeSlow(65_536);
    for (let at = 0; at < 20; at += 1)
      exchange?.onRequestData(block.subarray(at * 1_000, at * 1_000 + (count % 1_000)));
    exchange?.onResponseHead(200, [...headers]);
    for (let at = 0; at < 2; at += 1) exchange?.onResponseData(block.subarray(0, 30_000));
    // Some stay in progress for long. Their agent keeps them, and they make room like the others.
    if (count % 10 !== 0) exchange?.onEnd(null);
    else underWay.push(exchange);
    // Block memory is released between turns, as in an agent.
    if (count % 10 === 0) await nextTurn();
    if (count % 1_000 === 0) {
      await collectAll();
      peak = Math.max(peak, process.memoryUsage().arrayBuffers - before.arrayBuffers);
    }
  }
  await collectAll();
  const after = process.memoryUsage();
  const held = after.arrayBuffers - before.arrayBuffers;
  const { inspector: told } = (await (await fetch(`${inspector.url}/api/status`)).json()) as {
    inspector: { requests: number; kept_bytes: number; dropped: number };
  };
  context.diagnostic(
    `${told.requests} kept, ${told.kept_bytes} bytes by its own count, ${held} in blocks, peak ${peak}`,
  );
  assert.ok(told.kept_bytes <= MAX_TOTAL_BYTES && told.kept_bytes > MAX_TOTAL_BYTES / 2);
  assert.ok(Math.max(held, peak) <= MAX_TOTAL_BYTES * 1.1, `${held} and at most ${peak} bytes are held`);
  assert.ok(after.heapUsed - before.heapUsed < 8 * 1_048_576, `${after.heapUsed - before.heapUsed} bytes of heap`);
  assert.equal(told.requests + told.dropped, REQUESTS);
  assert.equal(underWay.length, REQUESTS / 10);
});

test('keeps only the newest requests up to the limit', async (context) => {
  const inspector = await startInspector({
    listen: { port: 0 },
    maxRequests: 3,
    tunnels: () => [],
    status: () => null,
  });
  context.after(() => inspector.close());
  const tunnel = { ref: 0, name: 'web' };
  for (const target of ['/1', '/2', '/3', '/4', '/5']) {
    inspector.observe({ tunnel, method: 'GET', target, authority: 'a', headers: [], contentLength: 0 })?.onEnd(null);
  }
  const { requests } = (await (await fetch(`${inspector.url}/api/requests/http`)).json()) as {
    requests: { path: string }[];
  };
  assert.deepEqual(
    requests.map(({ path }) => path),
    ['/5', '/4', '/3'],
  );
});
