// Process of memory measurements: files of other processes would distort them.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createSecureServer, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { after, suite, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { waitingBytes } from '../../../src/kit/net/waiting-bytes.ts';
import type { EdgeWorld } from '../../support/edge-world.ts';
import { TunnelWorld } from '../../support/tunnel-world.ts';
import { UpstreamAuthority } from '../settings/upstream-authority.ts';
import {
  END_HEADERS,
  END_STREAM,
  frame,
  HEADERS,
  headerBlock,
  INITIAL_WINDOW_SIZE,
  setting,
} from './support/frames.ts';
import { meanwhileServed } from './support/honest-client.ts';
import { largeUpstream } from './support/large-upstream.ts';
import { RawHttp2 } from './support/raw-http2.ts';
import { until } from './support/until.ts';

const KB = 1024;
const MB = 1 << 20;
const CONNECTIONS = 10;
const STREAMS = 100;
const NO_WINDOW = setting(INITIAL_WINDOW_SIZE, 0);
/** Bytes that a response may keep outside of the heap. */
const MOST_KEPT = 90 * KB;
/** What the requests allocate, and the connections of both ends. */
const OTHER_BYTES = 512 * MB;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const authority = await UpstreamAuthority.trusted({ after });
const upstream = await largeUpstream({ after });
const tunnels = await TunnelWorld.open({ after });
const world: EdgeWorld = tunnels.edge;

/** Sends the same block again and again, so that it takes no memory of this process for what waits. */
async function http2Upstream(): Promise<string> {
  const { certificatePem: cert, keyPem: key } = await authority.issue();
  const server = createSecureServer({ cert, key, maxSessionMemory: 1000 });
  const block = Buffer.alloc(64 * KB);
  server.on('stream', (stream: ServerHttp2Stream, headers) => {
    stream.on('error', () => {}).respond({ ':status': 200 });
    if (headers[':path'] !== '/endless') {
      stream.end('hello');
      return;
    }
    const more = (): void => {
      while (stream.writable && stream.write(block)) {}
    };
    stream.on('drain', more);
    more();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  after(() => server.close());
  return `localhost:${(server.address() as AddressInfo).port}`;
}

/**
 * V8 frees the blocks of a collection in another thread, which a busy machine delays. The next collection waits for it.
 */
function keptBytes(): number {
  collect();
  collect();
  return process.memoryUsage().external;
}

async function settled(): Promise<void> {
  for (let before = -1; before !== waitingBytes(); ) {
    before = waitingBytes();
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
}

async function agentHost(): Promise<string> {
  const { publicUrl } = await tunnels.agent([{ proto: 'https', addr: upstream.address }]);
  return new URL(publicUrl ?? '').hostname;
}

const LARGE = `/large/${50 * MB}`;
const siteOf = async (address: string, isTls: boolean): Promise<string> =>
  (await world.site(await world.staticBackend(address, isTls))).host;
const UPSTREAMS: readonly (readonly [name: string, open: () => Promise<string>, path: string, places: number])[] = [
  ['an upstream with HTTP/1.1', () => siteOf(upstream.address, false), LARGE, 1],
  ['an upstream with HTTP/2', async () => siteOf(await http2Upstream(), true), '/endless', 1],
  ['an agent', agentHost, LARGE, 2],
];

suite('responses over HTTP/2 that their clients do not read', () => {
  for (const [name, open, path, places] of UPSTREAMS) {
    test(`${CONNECTIONS * STREAMS} from ${name} hold at most ${MOST_KEPT / KB} KB each, and others are served`, async (t) => {
      const host = await open();
      await world.ask(host);
      const before = keptBytes();
      const clients: RawHttp2[] = [];
      t.after(() => {
        for (const client of clients) client.destroy();
      });
      await meanwhileServed(
        world,
        host,
        async () => {
          const block = headerBlock(host, path);
          for (let at = 0; at < CONNECTIONS; at += 1) {
            // One address keeps no more than a connection has.
            const client = await RawHttp2.open(world, host, NO_WINDOW, `127.0.1.${at + 1}`);
            clients.push(client);
            for (let id = 0; id < STREAMS; id += 1)
              client.send(frame(HEADERS, END_HEADERS | END_STREAM, 2 * id + 1, block));
          }
          for (const client of clients) await client.until(() => client.of(HEADERS).length === STREAMS);
          await settled();
        },
        OTHER_BYTES,
      );
      const kept = (keptBytes() - before) / (CONNECTIONS * STREAMS);
      t.diagnostic(`${Math.round(kept / KB)} KB each, ${Math.round(waitingBytes() / MB)} MB wait`);
      // The agent is in this process, and has its own part of each.
      assert.ok(kept < places * MOST_KEPT, `${Math.round(kept / KB)} KB each`);
      for (const client of clients) client.destroy();
      await until(async () => waitingBytes() === 0, 'nothing waits');
      await until(async () => keptBytes() - before < 8 * MB, 'the memory is free');
    });
  }
});
