import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientHttp2Session, connect, createServer, type ServerHttp2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { waitingBytes, waits } from '../net/waiting-bytes.ts';
import { INITIAL_WINDOW_BYTES, narrowedWindow, SessionWindows } from './session-windows.ts';

const MIB = 1024 * 1024;

/** Two real ends of a session, and the windows that the far end received. */
async function pair(t: TestContext): Promise<{ near: ClientHttp2Session; told: number[]; far: ServerHttp2Session }> {
  const server = createServer();
  const accepted = once(server, 'session');
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const near = connect(`http://127.0.0.1:${port}`, { settings: { initialWindowSize: INITIAL_WINDOW_BYTES } });
  const [far] = (await accepted) as [ServerHttp2Session];
  const told: number[] = [];
  far.on('remoteSettings', ({ initialWindowSize = 0 }) => told.push(initialWindowSize));
  await Promise.all([once(near, 'localSettings'), once(near, 'remoteSettings')]);
  told.length = 0;
  t.after(() => {
    near.destroy();
    server.close();
  });
  return { near, told, far };
}

async function confirmed(session: ClientHttp2Session): Promise<void> {
  while (session.pendingSettingsAck) await once(session, 'localSettings');
}

test('all windows together stay within 64 MiB, in powers of two', () => {
  assert.deepEqual(
    [1, 2, 3, 4, 5, 16, 17, 256, 1000].map((streams) => narrowedWindow(streams, 0) / MIB),
    [32, 32, 16, 16, 8, 4, 2, 0.25, 0.25],
  );
});

test('many streams narrow the windows immediately, and a short burst does not change them each time', async (t) => {
  const { near, told } = await pair(t);
  const windows = new SessionWindows(near);
  for (let burst = 0; burst < 20; burst += 1) {
    for (let n = 0; n < 16; n += 1) windows.opened();
    await confirmed(near);
    for (let n = 0; n < 16; n += 1) windows.closed();
    await new Promise((resolve) => setImmediate(resolve));
  }
  // The first step is what three streams need; the rest follows when the peer has confirmed it.
  assert.deepEqual(told.slice(0, 2), [16 * MIB, 4 * MIB]);
  // On a machine that stalled between two bursts it may have been widened, but not with every burst.
  assert.ok(told.length < 20, `${told.length} settings`);
});

test('the last remaining stream gets a wide window again', async (t) => {
  const { near, told, far } = await pair(t);
  const windows = new SessionWindows(near);
  for (let n = 0; n < 100; n += 1) windows.opened();
  await confirmed(near);
  assert.equal(told.at(-1), narrowedWindow(100, 0));
  for (let n = 0; n < 99; n += 1) windows.closed();
  while (told.at(-1) !== INITIAL_WINDOW_BYTES) await once(far, 'remoteSettings');
});

test('readers that are slower than the line narrow the windows, and widen them when they catch up', async (t) => {
  const { near, told, far } = await pair(t);
  const windows = new SessionWindows(near);
  windows.opened();
  windows.unread(INITIAL_WINDOW_BYTES / 2);
  assert.ok(!near.pendingSettingsAck, 'half of the window is no reason');
  windows.unread(INITIAL_WINDOW_BYTES / 2 + 1);
  // Once in a while: the peer has not yet heard of the first.
  windows.unread(INITIAL_WINDOW_BYTES);
  await confirmed(near);
  assert.deepEqual(told, [INITIAL_WINDOW_BYTES / 2]);
  while (told.at(-1) !== INITIAL_WINDOW_BYTES) await once(far, 'remoteSettings');
});

test('a smaller budget gives smaller windows', async (t) => {
  const { near, told } = await pair(t);
  const windows = new SessionWindows(near, { budgetBytes: () => 4 * MIB });
  windows.opened();
  await confirmed(near);
  assert.deepEqual(told, [4 * MIB]);
});

test('what is held for slow readers is missing in the windows, until they have read it', async (t) => {
  const { near, told, far } = await pair(t);
  const windows = new SessionWindows(near);
  windows.opened();
  windows.held(MIB / 2);
  assert.ok(!near.pendingSettingsAck, 'a reader may be slow for a moment');
  windows.held(MIB / 2);
  await confirmed(near);
  windows.held(62 * MIB);
  await confirmed(near);
  assert.deepEqual(told, [8 * MIB, MIB]);
  windows.held(-63 * MIB);
  while (told.at(-1) !== INITIAL_WINDOW_BYTES) await once(far, 'remoteSettings');
});

test('all sessions of a thread narrow their windows while much waits in it, but those of requests', async (t) => {
  const [one, other] = [await pair(t), await pair(t)];
  const windows = [new SessionWindows(one.near), new SessionWindows(other.near, { crowdedBytes: 0 })];
  for (const each of windows) each.opened();
  waits(95 * MIB);
  await confirmed(one.near);
  assert.deepEqual([one.told, other.told], [[MIB / 2], []]);
  waits(-95 * MIB);
  while (one.told.at(-1) !== INITIAL_WINDOW_BYTES) await once(one.far, 'remoteSettings');
});

test('a session that ends holds nothing', async (t) => {
  const { near } = await pair(t);
  const before = waitingBytes();
  const windows = new SessionWindows(near);
  windows.held(MIB);
  assert.equal(waitingBytes(), before + MIB);
  near.destroy();
  await once(near, 'close');
  windows.held(-MIB);
  assert.equal(waitingBytes(), before);
});
