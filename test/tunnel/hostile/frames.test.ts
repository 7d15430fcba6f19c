// Own process: measures memory.
import assert from 'node:assert/strict';
import { constants } from 'node:http2';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import { FRAME, frame, SETTINGS, SETTINGS_ACK, STATUS_200 } from '../../support/http2-frames.ts';
import { isLong } from '../../support/share-of-cases.ts';
import { TunnelWorld } from '../../support/tunnel-world.ts';
import { eventually } from '../support/fault-world.ts';
import { honestAgent } from '../support/honest-agent.ts';
import { closed, dial, helloOf, RawAgent } from '../support/raw-agent.ts';

const MB = 1_048_576;
const FLOOD_MS = isLong ? 1_500 : 500;
const world = await TunnelWorld.open({ after });
const honest = await honestAgent({ after }, world);

/** A raw agent: it has confirmed the settings and answered the control stream. */
async function bytesAgent(): Promise<TLSSocket> {
  const socket = await dial(world);
  socket.resume();
  socket.write(Buffer.concat([SETTINGS, SETTINGS_ACK]));
  await sleep(50);
  socket.write(frame(FRAME.headers, constants.NGHTTP2_FLAG_END_HEADERS, 1, STATUS_200));
  return socket;
}

/** Writes until the peer closes, or for this long; returns how much memory this process took in the meantime. */
async function flood(socket: TLSSocket, bytes: Buffer, forMs: number): Promise<number> {
  const before = process.memoryUsage().rss;
  let highest = before;
  const until = performance.now() + forMs;
  while (!socket.destroyed && performance.now() < until) {
    if (!socket.write(bytes)) await new Promise<void>((resolve) => wake(socket, resolve));
    highest = Math.max(highest, process.memoryUsage().rss);
    await sleep(0);
  }
  return highest - before;
}

function wake(socket: TLSSocket, resolve: () => void): void {
  const over = (): void => {
    socket.off('drain', over).off('close', over);
    clearTimeout(timer);
    resolve();
  };
  const timer = setTimeout(over, 100);
  socket.once('drain', over).once('close', over);
}

const FLOODS: readonly (readonly [string, Buffer])[] = [
  ['pings', frame(FRAME.ping, 0, 0, Buffer.alloc(8))],
  ['settings', frame(FRAME.settings, 0, 0, Buffer.from([0, 4, 0, 0, 0xff, 0xff]))],
  ['empty data frames', frame(FRAME.data, 0, 1)],
  ['window updates', frame(FRAME.window, 0, 1, Buffer.from([0, 0, 0, 1]))],
  ['resets of streams that nobody opened', frame(FRAME.reset, 0, 3, Buffer.alloc(4))],
  ['frames of a type that nobody knows', frame(0xfa, 0, 0, Buffer.alloc(100))],
];
for (const [what, bytes] of FLOODS) {
  test(`a flood of ${what} costs bounded memory and affects nobody else`, async (t) => {
    const socket = await bytesAgent();
    const many = Buffer.concat(Array.from({ length: 2_000 }, () => bytes));
    const grownBytes = await flood(socket, many, FLOOD_MS);
    await honest.check();
    socket.destroy();
    t.diagnostic(`memory grew by ${Math.round(grownBytes / MB)} MB`);
    assert.ok(grownBytes < 200 * MB, `${grownBytes}`);
  });
}

test('a push promise, and a stream that only the gateway may open, end the connection', async () => {
  const promise = Buffer.concat([Buffer.from([0, 0, 0, 2]), Buffer.from([0x82, 0x87, 0x84, 0x41, 0x01, 0x61])]);
  for (const bytes of [
    frame(FRAME.push, constants.NGHTTP2_FLAG_END_HEADERS, 1, promise),
    frame(FRAME.headers, constants.NGHTTP2_FLAG_END_HEADERS, 2, STATUS_200),
    frame(FRAME.headers, constants.NGHTTP2_FLAG_END_HEADERS, 99, STATUS_200),
    frame(FRAME.data, 0, 2, 'x'),
  ]) {
    const socket = await bytesAgent();
    socket.write(bytes);
    await closed(socket);
  }
  await honest.check();
});

test('cuts off endless heads', async () => {
  const socket = await bytesAgent();
  socket.write(frame(FRAME.headers, 0, 1, Buffer.alloc(100, 0x00)));
  // A literal field of 100 bytes, repeated.
  const field = Buffer.concat([Buffer.from([0x00, 0x01, 0x61, 0x60]), Buffer.alloc(96, 0x62)]);
  const many = frame(FRAME.continuation, 0, 1, Buffer.concat(Array.from({ length: 100 }, () => field)));
  await flood(socket, many, 10_000);
  await closed(socket);
  await honest.check();
});

/** A tunnel of the raw agent, whose responses the test controls. */
async function tunnelOf(agent: RawAgent): Promise<string> {
  const bound = await agent.bind({ ref: 0, proto: 'https' });
  assert.equal(bound.t, 'bound');
  return new URL((bound as { public_url?: string }).public_url ?? '').hostname;
}

test('oversized response heads become an error page, and the connection survives', async () => {
  const agent = await RawAgent.greeted(world);
  const host = await tunnelOf(agent);
  agent.onStream = (stream) => {
    if (stream.id === undefined) return;
    stream.respond(
      { ':status': 200, 'x-large': 'x'.repeat(60_000), 'x-larger': 'y'.repeat(90_000) },
      { endStream: true },
    );
  };
  const answer = await world.edge.ask(host).then(
    ({ status }) => status,
    () => 0,
  );
  assert.ok(answer >= 500 || answer === 0, `${answer}`);
  await honest.check();
  agent.destroy();
});

test('responses that never come or never end are abandoned by their client and released', async () => {
  const agent = await RawAgent.greeted(world);
  const host = await tunnelOf(agent);
  let open = 0;
  agent.onStream = (stream) => {
    open += 1;
    stream.once('close', () => {
      open -= 1;
    });
    stream.respond({ ':status': 200 });
    stream.write('and so on');
  };
  const sockets = await Promise.all(Array.from({ length: 20 }, () => world.edge.connect(host)));
  for (const socket of sockets) socket.write(`GET / HTTP/1.1\r\nhost: ${host}\r\n\r\n`);
  await eventually('all are in progress', () => open === 20);
  await honest.check();
  for (const socket of sockets) socket.destroy();
  await eventually('none is in progress', () => open === 0);
  agent.destroy();
});

test('an agent without windows holds no request bodies in the server', async (t) => {
  const agent = await RawAgent.open(world, { initialWindowSize: 0 });
  // The agent's control stream has no window either: it sends requests and receives nothing; the tunnel is bound
  // anyway.
  agent.say(helloOf(world.token));
  agent.say({ t: 'bind', ref: 0, proto: 'https', metadata: '', forwards_to: 'nowhere' });
  const found = async () => {
    const { tunnels } = await world.edge.api('GET', '/tunnels?limit=100');
    return tunnels.find(({ forwards_to: to }: { forwards_to: string }) => to === 'nowhere');
  };
  await eventually('it is listed', async () => (await found()) !== undefined);
  const host = new URL((await found()).public_url).hostname;
  agent.onStream = () => {};
  const before = process.memoryUsage().rss;
  const sockets = await Promise.all(Array.from({ length: 10 }, () => world.edge.connect(host)));
  const chunk = Buffer.alloc(65_536);
  let sent = 0;
  for (const socket of sockets) {
    socket.write(`POST / HTTP/1.1\r\nhost: ${host}\r\ncontent-length: 100000000\r\n\r\n`);
    for (let written = 0; written < 100_000_000 && socket.write(chunk); written += chunk.length) sent += chunk.length;
  }
  await sleep(500);
  const grown = process.memoryUsage().rss - before;
  t.diagnostic(`${Math.round(sent / MB)} MB were taken, memory grew by ${Math.round(grown / MB)} MB`);
  assert.ok(grown < 150 * MB);
  for (const socket of sockets) socket.destroy();
  await honest.check();
  agent.destroy();
});

test('an agent that allows no streams gets none, and is dropped in time', async () => {
  const socket = await dial(world);
  socket.resume();
  socket.write(Buffer.concat([frame(FRAME.settings, 0, 0, Buffer.from([0, 3, 0, 0, 0, 0])), SETTINGS_ACK]));
  await closed(socket, 60_000);
  await honest.check();
});

test('endless informational responses become an error page', async () => {
  const agent = await RawAgent.greeted(world);
  const host = await tunnelOf(agent);
  let sent = 0;
  agent.onStream = (stream) => {
    const more = (): void => {
      if (stream.destroyed || stream.closed) return;
      stream.additionalHeaders({ ':status': 103, link: `<${'x'.repeat(2_000)}>` });
      sent += 1;
      setImmediate(more);
    };
    more();
  };
  assert.equal(await world.edge.status(host), 502);
  assert.ok(sent > 20, `${sent}`);
  agent.destroy();
});
