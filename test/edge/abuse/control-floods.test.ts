// Process of memory measurements: files of other processes would distort them.
import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { EdgeWorld } from '../../support/edge-world.ts';
import { recordingUpstream } from '../traffic/recording-upstream.ts';
import {
  DATA,
  END_HEADERS,
  END_STREAM,
  frame,
  GOAWAY,
  HEADERS,
  headerBlock,
  PING,
  PRIORITY,
  reset,
  SETTINGS,
  uint32,
  windowUpdate,
} from './support/frames.ts';
import { meanwhileServed } from './support/honest-client.ts';
import { RawHttp2 } from './support/raw-http2.ts';

const FLOOD = 200_000;
const A_FEW = 20;
const upstream = await recordingUpstream({ after });
const world = await EdgeWorld.open({ after });
const { host } = await world.site(await world.staticBackend(upstream.address));

interface Flood {
  readonly name: string;
  readonly first?: Buffer;
  readonly make: (index: number) => Buffer;
  /** The client does not read the responses to its flood. */
  readonly isUnread?: boolean;
  /** The first one is already invalid. */
  readonly isWrongAtOnce?: boolean;
  /** A flood that costs nothing may continue. */
  readonly mayGoOn?: boolean;
}

const post = frame(HEADERS, END_HEADERS, 1, headerBlock(host, '/', 'POST'));
const ping = frame(PING, 0, 0, Buffer.alloc(8));
const floods: readonly Flood[] = [
  { name: 'SETTINGS (CVE-2019-9515)', make: () => frame(SETTINGS, 0, 0) },
  { name: 'SETTINGS whose answers are not read', make: () => frame(SETTINGS, 0, 0), isUnread: true },
  { name: 'PING (CVE-2019-9512)', make: () => ping },
  { name: 'PING whose answers are not read', make: () => ping, isUnread: true },
  { name: 'empty DATA (CVE-2019-9518)', first: post, make: () => frame(DATA, 0, 1) },
  { name: 'PRIORITY (CVE-2019-9513)', make: (index) => frame(PRIORITY, 0, 2 * index + 1, Buffer.alloc(5)) },
  { name: 'RST_STREAM for streams that never were', make: (index) => reset(2 * index + 1), isWrongAtOnce: true },
  { name: 'RST_STREAM for one stream again and again', first: post, make: () => reset(1) },
  { name: 'frames of no known type', make: () => frame(0x77, 0, 0, Buffer.alloc(8)) },
  { name: 'WINDOW_UPDATE of the connection', make: () => windowUpdate(0, 1), mayGoOn: true },
];

suite('floods of frames without requests', () => {
  for (const { name, first, make, isUnread = false, isWrongAtOnce = false, mayGoOn = false } of floods) {
    test(name, async () => {
      const client = await RawHttp2.open(world, host);
      if (first !== undefined) client.send(first);
      if (!isWrongAtOnce) {
        await client.flood(A_FEW, make);
        client.send(frame(HEADERS, END_HEADERS | END_STREAM, 1001, headerBlock(host)));
        await client.until(() => client.isAnswered(1001));
        assert.equal(client.of(HEADERS).length, 1, 'a few do no harm');
      }
      if (isUnread) client.socket.pause();
      await meanwhileServed(world, host, async () => {
        await client.flood(FLOOD, make);
        if (!mayGoOn) {
          client.socket.resume();
          // The edge ends it. A worker may do so after all of them were sent.
          await client.closed;
        }
      });
      client.destroy();
    });
  }

  test('GOAWAY of the client: requests in progress are answered, then the connection ends', async () => {
    const client = await RawHttp2.open(world, host);
    client.send(
      frame(HEADERS, END_HEADERS | END_STREAM, 1, headerBlock(host)),
      frame(GOAWAY, 0, 0, Buffer.concat([uint32(0), uint32(0)])),
    );
    await client.closed;
    assert.equal(client.of(HEADERS).length, 1);
    assert.equal(client.goawayCode ?? 0, 0);
  });
});

suite('impossible windows', () => {
  const FLOW_CONTROL_ERROR = 3;
  const PROTOCOL_ERROR = 1;
  const most = 2 ** 31 - 1;
  for (const [name, code, frames] of [
    ['of the connection beyond 2^31-1', FLOW_CONTROL_ERROR, [windowUpdate(0, most)]],
    ['of a stream beyond 2^31-1', FLOW_CONTROL_ERROR, [post, windowUpdate(1, most)]],
    ['an increment of 0', PROTOCOL_ERROR, [windowUpdate(0, 0)]],
  ] as const) {
    test(name, async () => {
      const client = await RawHttp2.open(world, host);
      await meanwhileServed(world, host, async () => {
        client.send(...frames);
        await client.closed;
      });
      assert.equal(client.goawayCode, code);
    });
  }
});
