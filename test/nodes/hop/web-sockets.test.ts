import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientHttp2Stream, constants, type ServerHttp2Stream } from 'node:http2';
import { after, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Hop } from '../../../src/tunnel/nodes/hop/hop.ts';
import { eventually } from '../../tunnel/support/fault-world.ts';
import { HopWorld, TUNNEL } from './hop-world.ts';

const world = await HopWorld.open({ after }, 1);
const [holder] = world.holders;
assert.ok(holder);
const { agent, node, tunnels, open, webSockets } = holder;

const HEAD = [
  ...[':method', 'CONNECT', ':protocol', 'websocket', ':scheme', 'https'],
  ...[':authority', 'a.example', ':path', '/chat', 'postern-tunnel', TUNNEL],
];
const TO_CLIENT = '880203e9';
const TO_SERVICE = '88820000000003e9';
const FRAME = Buffer.from([0x81, 3, 0x61, 0x62, 0x63]);
const MASKED_FRAME = Buffer.from([0x81, 0x83, 0, 0, 0, 0, 0x61, 0x62, 0x63]);

class End {
  readonly stream: ClientHttp2Stream | ServerHttp2Stream;
  readonly #chunks: Buffer[] = [];

  constructor(stream: ClientHttp2Stream | ServerHttp2Stream) {
    this.stream = stream;
    stream.on('data', (chunk: Buffer) => this.#chunks.push(chunk));
    stream.on('error', () => {});
  }

  get bytes(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  get hex(): string {
    return this.bytes.toString('hex');
  }

  async has(hex: string): Promise<void> {
    await eventually(`it has received ${hex}`, () => this.hex === hex);
  }
}

interface Offered {
  readonly client: End;
  readonly service: End;
  readonly accept: (status?: string) => Promise<void>;
}

/** A WebSocket that the service has not answered yet. */
async function offered(): Promise<Offered> {
  const link = world.linkTo(node);
  assert.ok(link);
  const arrived = Promise.withResolvers<ServerHttp2Stream>();
  agent.handle = arrived.resolve;
  const stream = link.request(HEAD, { endStream: false, waitForTrailers: false });
  stream.once('close', () => link.release(stream));
  const client = new End(stream);
  const served = await arrived.promise;
  const accept = async (status = '200'): Promise<void> => {
    served.respond([':status', status]);
    await once(stream, 'response');
  };
  return { client, service: new End(served), accept };
}

async function webSocket(status?: string): Promise<Offered> {
  const made = await offered();
  await made.accept(status);
  return made;
}

function frameOf(size: number): Buffer {
  const head = size < 126 ? Buffer.from([0x82, size]) : Buffer.from([0x82, 127, 0, 0, 0, 0, 0, 0, 0, 0]);
  if (size >= 126) head.writeUInt32BE(size, 6);
  return Buffer.concat([head, Buffer.alloc(size, 'x')]);
}

/** What both programs do when they see the end. */
function endBack(...ends: readonly End[]): void {
  for (const { stream } of ends) stream.once('end', () => stream.end());
}

async function nothingIsLeft(): Promise<void> {
  await eventually('all streams are closed', () => {
    return agent.active === 0 && tunnels.get(TUNNEL)?.inFlight === 0 && open.streams === 0;
  });
}

suite('WebSockets over a hop when the node with the agent stops', () => {
  test('get a Close frame in both directions, and end', async () => {
    const { client, service } = await webSocket();
    endBack(client, service);
    client.stream.write(MASKED_FRAME);
    service.stream.write(FRAME);
    await service.has(MASKED_FRAME.toString('hex'));
    await client.has(FRAME.toString('hex'));
    await webSockets.close();
    await client.has(FRAME.toString('hex') + TO_CLIENT);
    await service.has(MASKED_FRAME.toString('hex') + TO_SERVICE);
    await nothingIsLeft();
    for (const { stream } of [client, service]) assert.ok(stream.readableEnded && stream.rstCode === 0);
  });

  test('finish the frame that was begun, and forward nothing after the Close frame', async () => {
    const { client, service } = await webSocket();
    endBack(client, service);
    service.stream.write(FRAME.subarray(0, 3));
    await client.has(FRAME.subarray(0, 3).toString('hex'));
    const closed = webSockets.close();
    await service.has(TO_SERVICE);
    client.stream.write(MASKED_FRAME);
    assert.ok(!service.stream.readableEnded, 'the service may finish its frame');
    service.stream.write(FRAME.subarray(3));
    await closed;
    await client.has(FRAME.toString('hex') + TO_CLIENT);
    await nothingIsLeft();
    assert.equal(service.hex, TO_SERVICE);
  });

  test('are cut a second later when a frame never ends', async () => {
    const { client, service } = await webSocket();
    service.stream.write(FRAME.subarray(0, 3));
    await client.has(FRAME.subarray(0, 3).toString('hex'));
    const began = performance.now();
    await webSockets.close();
    assert.ok(performance.now() - began >= 990, 'it did not wait for the frame');
    await nothingIsLeft();
    assert.equal(client.hex, FRAME.subarray(0, 3).toString('hex'));
    assert.equal(client.stream.rstCode, constants.NGHTTP2_CANCEL);
  });

  test('are cut when the client ignores the Close frame and goes on sending', async (t) => {
    const { client, service } = await webSocket();
    endBack(service);
    const sending = setInterval(() => client.stream.writable && client.stream.write(MASKED_FRAME), 5);
    t.after(() => clearInterval(sending));
    await webSockets.close();
    await nothingIsLeft();
    assert.equal(client.hex, TO_CLIENT);
  });

  test('get it in time although the service sends without a pause', async () => {
    for (const size of [1, 1003, 70_001]) {
      const { client, service } = await webSocket();
      const frame = frameOf(size);
      // What follows the first Close frame must not reach the client.
      endBack(client);
      const { stream } = service;
      const pour = (): void => {
        while (stream.writable && stream.write(frame));
      };
      stream.on('drain', pour).once('end', () => stream.end());
      pour();
      await eventually('frames arrive', () => client.bytes.length > 0);
      await webSockets.close();
      await nothingIsLeft();
      const { bytes } = client;
      assert.equal(bytes.subarray(-4).toString('hex'), TO_CLIENT);
      const count = (bytes.length - 4) / frame.length;
      assert.ok(
        Number.isInteger(count) && bytes.equals(Buffer.concat([...Array(count).fill(frame), bytes.subarray(-4)])),
      );
      assert.equal(client.stream.rstCode, constants.NGHTTP2_NO_ERROR);
    }
  });

  test('get it if the service accepts them in this moment', async () => {
    const { client, service, accept } = await offered();
    endBack(client, service);
    const closed = webSockets.close();
    await sleep(50);
    await accept();
    await closed;
    await nothingIsLeft();
    assert.deepEqual([client.hex, service.hex], [TO_CLIENT, TO_SERVICE]);
  });

  test('do not keep a client waiting whose data is dropped', async (t) => {
    // The hop must end by itself, however slow the machine is.
    t.mock.method(Hop.prototype, 'cut', () => {});
    const { client, service } = await webSocket();
    endBack(service);
    service.stream.pause();
    const head = Buffer.from([0x82, 0xff, 0, 0, 0, 0, 0, 0x04, 0, 0, 0, 0, 0, 0]);
    const half = Buffer.alloc(131_072);
    client.stream.write(head);
    client.stream.write(half);
    await sleep(100);
    const closed = webSockets.close();
    client.stream.write(half);
    client.stream.end(Buffer.alloc(40_000_000));
    // The end of the frame finds no room, because nobody reads.
    await sleep(200);
    service.stream.resume();
    await closed;
    await nothingIsLeft();
    assert.equal(service.bytes.length, head.length + 2 * half.length + TO_SERVICE.length / 2);
  });

  test('do not keep a service waiting whose data is dropped', async (t) => {
    // The hop must end by itself, however slow the machine is.
    t.mock.method(Hop.prototype, 'cut', () => {});
    const { client, service } = await webSocket();
    endBack(client);
    client.stream.pause();
    const frame = frameOf(262_144);
    service.stream.write(frame);
    await sleep(100);
    const closed = webSockets.close();
    service.stream.end(Buffer.alloc(40_000_000));
    await sleep(200);
    client.stream.resume();
    await closed;
    await nothingIsLeft();
    assert.equal(client.bytes.length, frame.length + TO_CLIENT.length / 2);
  });

  test('get no second Close frame', async () => {
    const { client, service } = await webSocket();
    client.stream.write(Buffer.from(TO_SERVICE, 'hex'));
    await service.has(TO_SERVICE);
    service.stream.write(Buffer.from(TO_CLIENT, 'hex'));
    await client.has(TO_CLIENT);
    endBack(client, service);
    await webSockets.close();
    await nothingIsLeft();
    assert.deepEqual([client.hex, service.hex], [TO_CLIENT, TO_SERVICE]);
  });

  test('are not taken for WebSockets if the service refused them', async () => {
    const { client, service } = await webSocket('403');
    service.stream.write('You may not ');
    await client.has(Buffer.from('You may not ').toString('hex'));
    const closed = webSockets.close();
    service.stream.end('chat here.');
    client.stream.end();
    await closed;
    await client.has(Buffer.from('You may not chat here.').toString('hex'));
    await nothingIsLeft();
    assert.equal(service.hex, '');
  });

  test('have ends of their own before that', async () => {
    const { client, service } = await webSocket();
    endBack(client, service);
    client.stream.end(MASKED_FRAME);
    await nothingIsLeft();
    const began = performance.now();
    await webSockets.close();
    assert.ok(performance.now() - began < 500, 'it waited for a WebSocket that has ended');
  });
});
