import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import { after, test } from 'node:test';
import { isLong } from '../../support/share-of-cases.ts';
import { blockService } from './blocks.ts';
import { TunnelProcesses } from './tunnel-processes.ts';

const MIB = 1024 * 1024;
/** Enough to fill the windows of both connections. */
const PER_SESSION = isLong ? 50 : 32;
const DOWNLOADS = PER_SESSION * (isLong ? 10 : 1);
const SMALL_REQUESTS = isLong ? 200 : 50;
/**
 * Windows of all streams of the agent's two connections are at most 64 MiB each, at either end; the rest are socket
 * buffers.
 */
const MAX_GROWTH = 400 * MIB;

const processes = await TunnelProcesses.open({ after }, await blockService({ after }));

async function start(session: ClientHttp2Session, bytes: number): Promise<ClientHttp2Stream> {
  const stream = session.request({ ':path': `/${bytes}` });
  stream.on('error', () => {});
  const [headers] = await once(stream, 'response');
  assert.equal(headers[':status'], 200);
  return stream;
}

async function received(stream: ClientHttp2Stream): Promise<number> {
  let bytes = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) bytes += chunk.length;
  return bytes;
}

async function times(session: ClientHttp2Session): Promise<readonly number[]> {
  const took: number[] = [];
  for (let n = 0; n < SMALL_REQUESTS; n += 1) {
    const startedAt = performance.now();
    assert.equal(await received(await start(session, 65_536)), 65_536);
    took.push(performance.now() - startedAt);
  }
  return took.sort((a, b) => a - b);
}

test(`small requests pass ${DOWNLOADS} unread downloads, which arrive completely in the end`, async (t) => {
  const small = await processes.session();
  const quiet = await times(small);
  const before = processes.rss();
  const sessions = await Promise.all(Array.from({ length: DOWNLOADS / PER_SESSION }, () => processes.session()));
  const size = 4 * MIB;
  const slow = await Promise.all(
    sessions.flatMap((session) => Array.from({ length: PER_SESSION }, () => start(session, size))),
  );
  // None of them is read yet: each has filled every window and buffer up to the service.
  const busy = await times(small);
  assert.ok(slow.every((stream) => !stream.readableEnded && !stream.closed));
  const after = processes.rss();
  const p = (sorted: readonly number[], share: number): string =>
    (sorted[Math.floor(sorted.length * share)] ?? 0).toFixed(1);
  t.diagnostic(`small requests, ms: p50 ${p(quiet, 0.5)} → ${p(busy, 0.5)}, p99 ${p(quiet, 0.99)} → ${p(busy, 0.99)}`);
  for (const name of ['server', 'agent'] as const) {
    const words = `${name}: from ${Math.round(before[name] / MIB)} to ${Math.round(after[name] / MIB)} MiB`;
    t.diagnostic(words);
    assert.ok(after[name] - before[name] < MAX_GROWTH, words);
  }
  const sizes = await Promise.all(slow.map((stream) => received(stream)));
  assert.deepEqual(
    sizes.filter((bytes) => bytes !== size),
    [],
  );
  for (const session of [...sessions, small]) session.close();
});
