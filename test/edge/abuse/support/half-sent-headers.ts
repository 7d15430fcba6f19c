import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { FLAG, FRAME, frame, headerBlock } from '../../../support/http2-frames.ts';
import { type RawPath, RawPaths } from '../../../support/raw-paths.ts';
import type { RawPeer } from '../../../support/raw-peer.ts';

/**
 * Runs as its own process, because an unpatched runtime aborts. A peer that reads nothing sends half of a header block
 * and resets its connection while the edge still writes to it. Then garbage is collected.
 */
const ROUNDS = 2;
/** More than the buffers of two sockets hold. */
const MUCH = Buffer.alloc(16 * 1_048_576, 'm');
const FILLER: readonly [string, string] = ['x-filler', 'f'.repeat(100)];

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
const cleanups: (() => Promise<void>)[] = [];
const raw = await RawPaths.open({ after: (task) => void cleanups.push(task) });
const [toHttp1, toHttp2] = raw.paths as readonly [RawPath, RawPath];

for (let round = 0; round < ROUNDS; round += 1) {
  await halfSentTrailers();
  await halfSentResponse();
  // Collected one by one, as a busy server would over minutes.
  for (let count = 0; count < 5; count += 1) {
    collect();
    await nextTurn();
    await sleep(5);
  }
}
raw.disconnect();
for (const task of cleanups) await task();
console.log('survived');
process.exit(0);

/** By a client: the session is the edge's own server. */
async function halfSentTrailers(): Promise<void> {
  const next = toHttp1.upstream.next();
  const client = await raw.client(toHttp1, 'h2');
  const request = [':method PUT', ':scheme https', ':path /', `:authority ${toHttp1.host}`].map(pair);
  client.send(frame(FRAME.headers, FLAG.endHeaders, 1, headerBlock(request)));
  const upstream = await next;
  await upstream.until(({ received }) => received.includes('\r\n\r\n'), 'a request');
  await client.until(({ http2 }) => http2 !== null && http2.frames.length > 0, 'settings');
  client.socket.pause();
  upstream.send(`HTTP/1.1 200 OK\r\ncontent-length: ${MUCH.length}\r\n\r\n`, MUCH);
  await blockAndReset(client, frame(FRAME.headers, FLAG.endStream, 1, headerBlock([FILLER])));
}

/** By an upstream: the session is the edge's client. */
async function halfSentResponse(): Promise<void> {
  const next = toHttp2.upstream.next();
  const client = await raw.client(toHttp2, 'http/1.1');
  client.send(`PUT / HTTP/1.1\r\nhost: ${toHttp2.host}\r\ncontent-length: ${MUCH.length}\r\n\r\n`);
  const upstream = await next;
  await upstream.until(({ http2 }) => http2?.frames.some(({ type }) => type === FRAME.headers) === true, 'a request');
  upstream.socket.pause();
  client.send(MUCH);
  await blockAndReset(upstream, frame(FRAME.headers, 0, 1, headerBlock([[':status', '200'], FILLER])));
  client.destroy();
}

async function blockAndReset(peer: RawPeer, half: Buffer): Promise<void> {
  // Nothing signals when the edge's socket is full.
  await sleep(150);
  peer.send(half);
  await sleep(50);
  peer.reset();
  await sleep(50);
}

function pair(text: string): readonly [string, string] {
  const at = text.indexOf(' ');
  return [text.slice(0, at), text.slice(at + 1)];
}
