import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ClientHttp2Stream, ServerHttp2Stream } from 'node:http2';
import { after, suite, test } from 'node:test';
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
  #received = Buffer.alloc(0);

  constructor(stream: ClientHttp2Stream | ServerHttp2Stream) {
    this.stream = stream;
    stream.on('data', (chunk: Buffer) => {
      this.#received = Buffer.concat([this.#received, chunk]);
    });
    stream.on('error', () => {});
  }

  get hex(): string {
    return this.#received.toString('hex');
  }

  async has(hex: string): Promise<void> {
    await eventually(`it has received ${hex}`, () => this.hex === hex);
  }
}

async function webSocket(status = '200'): Promise<{ readonly client: End; readonly service: End }> {
  const link = world.linkTo(node);
  assert.ok(link);
  const arrived = Promise.withResolvers<ServerHttp2Stream>();
  agent.handle = arrived.resolve;
  const stream = link.request(HEAD, { endStream: false, waitForTrailers: false });
  stream.once('close', () => link.release());
  const client = new End(stream);
  const service = new End(await arrived.promise);
  (service.stream as ServerHttp2Stream).respond([':status', status]);
  await once(stream, 'response');
  return { client, service };
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

  test('are left to be cut when a frame never ends', async () => {
    const { client, service } = await webSocket();
    service.stream.write(FRAME.subarray(0, 3));
    await client.has(FRAME.subarray(0, 3).toString('hex'));
    await webSockets.close();
    assert.equal(client.hex, FRAME.subarray(0, 3).toString('hex'));
    assert.ok(!client.stream.readableEnded);
    client.stream.close();
    await nothingIsLeft();
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
