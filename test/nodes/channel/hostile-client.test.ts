import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, afterEach, suite, test } from 'node:test';
import { TunnelUpstream } from '../../../src/proxy/edge/tunnels/tunnel-upstream.ts';
import { DeadlineTicker } from '../../../src/proxy/upstream/deadline-ticker.ts';
import { eventually } from '../../tunnel/support/fault-world.ts';
import { ask, limits } from '../../upstream/ask.ts';
import { HopWorld, TUNNEL } from '../hop/hop-world.ts';
import { CREDIT, DATA, END, frame, framesIn, head, INFORMATIONAL, number, RESET, RESPONSE, request } from './frames.ts';
import { openChannel, type Rogue, rogueTo } from './rogue-client.ts';

const world = await HopWorld.open({ after }, 1, 4);
const [holder] = world.holders;
assert.ok(holder);
const { agent, node, tunnels } = holder;
const upstream = new TunnelUpstream(world.tunnel(), limits, new DeadlineTicker());

afterEach(async () => {
  agent.handle = (stream, headers) => agent.answer(stream, headers);
  // Others are unharmed, and nothing is left.
  assert.equal((await ask(upstream)).failure, null);
  await eventually('nothing is left', () => agent.active === 0 && tunnels.get(TUNNEL)?.inFlight === 0);
});

const MORE_THAN_MEMORY = Buffer.alloc(10);
MORE_THAN_MEMORY.writeUIntBE(0xff_ff_ff, 0, 3);
MORE_THAN_MEMORY.writeUInt8(1, 3);

suite('a node that breaks the protocol of the channel is disconnected:', () => {
  const games: readonly (readonly [string, readonly Buffer[], RegExp])[] = [
    ['a frame larger than allowed', [MORE_THAN_MEMORY], /a frame of 16777215 bytes/],
    ['a head without its number', [frame(1, 1, 'x')], /without its number/],
    ['a header without a value', [head(1, 1, 0, [':method'])], /without a value/],
    ['a line with a control character', [request(1, 0, 'tn_1', ['x-a', 'a\rb'])], /forbidden character/],
    ['no method', [head(1, 1, 0, ['x', 'y'])], /proper method/],
    ['an empty head', [head(1, 1, 0, [])], /proper method/],
    ['a connection', [head(1, 1, 0, [':method', 'CONNECT', ':authority', 'tn_1'])], /proper method/],
    ['the same number twice', [request(5, 1), request(5, 1)], /request 5 after 5/],
    ['a smaller number', [request(5, 1), request(4)], /request 4 after 5/],
    ['number zero', [request(0)], /request 0 after 0/],
    ['data of a request that was not sent', [frame(DATA, 9, 'x')], /request 9, which was not sent/],
    ['a reset of a request that was not sent', [number(RESET, 9, 8)], /request 9, which was not sent/],
    ['a response', [request(1, 1), head(RESPONSE, 1, 200, [])], /a response from the node with the client/],
    ['an informational response', [request(1, 1), head(INFORMATIONAL, 1, 103, [])], /a response from the node/],
    ['data without a body', [request(1), frame(DATA, 1, 'x')], /more data than it was allowed|data after the end/],
    ['two ends', [request(1, 1), frame(END, 1), frame(END, 1)], /two ends of one request/],
    ['data after the end', [request(1, 1), frame(END, 1), frame(DATA, 1, 'x')], /more data|data after the end/],
    [
      'data before it is allowed',
      [request(1, 1), ...Array.from({ length: 3 }, () => frame(DATA, 1, Buffer.alloc(15_000_000)))],
      /more data than/,
    ],
    ['a credit of nothing', [request(1, 1), number(CREDIT, 1, 0)], /a credit of nothing/],
    [
      'a thousand headers',
      [
        request(
          1,
          1,
          'tn_1',
          Array.from({ length: 2_000 }, (_, at) => `x${at}`),
        ),
      ],
      /a head of 2010 lines/,
    ],
    [
      'more data than announced',
      [request(1, 1, 'tn_1', ['content-length', '2', 'postern-tunnel', 'tn_1']), frame(DATA, 1, 'abc')],
      /more data than the request announced/,
    ],
    [
      'less data than announced',
      [request(1, 1, 'tn_1', ['content-length', '2', 'postern-tunnel', 'tn_1']), frame(DATA, 1, 'a'), frame(END, 1)],
      /less data than the request announced/,
    ],
    ['too much credit', [request(1, 1), number(CREDIT, 1, 0x7f_ff_ff_ff)], /too much credit/],
    ['a reset without a code', [request(1, 1), frame(RESET, 1)], /a number of 0 bytes/],
    ['a credit of eight bytes', [request(1, 1), frame(CREDIT, 1, '12345678')], /a number of 8 bytes/],
    ['odd trailers', [request(1, 3), frame(END, 1, 'a')], /without a value/],
  ];
  for (const [name, frames, why] of games) {
    test(name, async () => {
      const bad = await rogueTo(world, node);
      agent.handle = () => {};
      node.logged.splice(0);
      bad.channel.write(Buffer.concat([...frames]));
      await eventually('it is closed', () => bad.session.destroyed);
      const isLogged = (line: string): boolean => line.includes('broke the protocol') && line.includes(bad.id);
      await eventually('it is logged', () => node.logged.some((line) => isLogged(line) && why.test(line)));
    });
  }
});

suite('a node on the channel', () => {
  test('may send frames of unknown types, and of requests that are over', async () => {
    const { channel, received, session } = await rogueTo(world, node);
    channel.write(Buffer.concat([request(1), frame(200, 1, 'x'), frame(201, 77, 'x'), request(2)]));
    await eventually('both are answered', () => framesIn(received()).filter(({ type }) => type === END).length === 2);
    channel.write(Buffer.concat([frame(DATA, 1, 'late'), number(RESET, 1, 8), number(CREDIT, 2, 9), frame(END, 1)]));
    channel.write(request(3));
    await eventually('it goes on', () => framesIn(received()).some(({ type, id }) => type === END && id === 3));
    session.destroy();
  });

  test('is refused a tunnel that this node does not have, one that is not named, and a second channel', async () => {
    const { channel, received, session } = await rogueTo(world, node);
    const unnamed = head(1, 2, 0, [':method', 'GET', ':scheme', 'https', ':authority', 'a', ':path', '/']);
    channel.write(Buffer.concat([request(1, 0, 'tn_2'), unnamed, request(3, 1, '__proto__')]));
    await eventually('all are refused', () => framesIn(received()).length === 3);
    for (const { type, payload } of framesIn(received())) assert.deepEqual([type, payload.readUInt32BE()], [RESET, 7]);
    const [second] = await once(openChannel(session), 'response');
    assert.equal(second[':status'], 404);
    session.destroy();
  });

  test('that sends a head which no agent may get loses this request alone', async () => {
    const { channel, received, session } = await rogueTo(world, node);
    const heads = [
      ['connection', 'close'],
      ['x y', 'z'],
      [':path', '/twice'],
      [':status', '200'],
    ];
    heads.forEach((more, at) => void channel.write(request(at + 1, 0, 'tn_1', [...more, 'postern-tunnel', 'tn_1'])));
    channel.write(request(50));
    await eventually('the last one is answered', () =>
      framesIn(received()).some(({ type, id }) => type === END && id === 50),
    );
    const answered = framesIn(received()).filter(({ type, id }) => type === RESPONSE && id < 50);
    await eventually('the others are over', () => agent.active === 0);
    assert.deepEqual(
      answered.map(({ id }) => id),
      [],
    );
    session.destroy();
  });

  test('that goes away in the middle, in any manner, leaves nothing behind', async () => {
    for (const leave of [
      ({ channel }: Rogue) => channel.close(8),
      ({ channel }: Rogue) => channel.end(),
      ({ channel }: Rogue) => channel.destroy(),
      ({ session }: Rogue) => session.destroy(),
      ({ session }: Rogue) => session.close(),
      ({ channel }: Rogue) => channel.write(number(RESET, 2, 2)) && channel.close(0),
    ]) {
      const bad = await rogueTo(world, node);
      let streams = 0;
      agent.handle = (stream) => {
        streams += 1;
        stream.respond({ ':status': 200 });
        stream.write(Buffer.alloc(500_000));
      };
      bad.channel.write(Buffer.concat([request(1), request(2, 1), request(3, 3)]));
      await eventually('the agent has them', () => streams === 3);
      leave(bad);
      await eventually('they are reset', () => agent.active === 0 && tunnels.get(TUNNEL)?.inFlight === 0);
      bad.session.destroy();
    }
  });

  test('that sends requests and reads nothing is disconnected', async () => {
    const { channel, session } = await rogueTo(world, node);
    agent.handle = (stream) =>
      stream.respond({ ':status': 302, location: `/${'x'.repeat(30_000)}` }, { endStream: true });
    channel.pause();
    node.logged.splice(0);
    let id = 0;
    const timer = setInterval(() => {
      for (let count = 0; count < 50 && !session.destroyed; count += 1) {
        id += 1;
        channel.write(request(id));
      }
    }, 5);
    await eventually('it is closed', () => session.destroyed);
    clearInterval(timer);
    assert.ok(node.logged.some((line) => line.includes('it does not read its channel')));
  });

  test('gets no more than twenty informational responses, and grants of credit only as they are needed', async () => {
    const { channel, received, session } = await rogueTo(world, node);
    agent.handle = (stream, headers) => {
      if (headers['x-early'] === undefined) stream.resume();
      else for (let count = 0; count < 200; count += 1) stream.additionalHeaders({ ':status': 103 });
    };
    channel.write(request(1, 0, 'tn_1', ['x-early', '1', 'postern-tunnel', 'tn_1']));
    await eventually('it is reset', () => framesIn(received()).some(({ type, id }) => type === RESET && id === 1));
    assert.equal(framesIn(received()).filter(({ type }) => type === INFORMATIONAL).length, 20);
    channel.write(request(2, 1));
    const grants = (): number => framesIn(received()).filter(({ type, id }) => type === CREDIT && id === 2).length;
    await eventually('the body is wanted', () => grants() === 1);
    for (let count = 0; count < 100; count += 1) channel.write(frame(DATA, 2, 'x'));
    channel.write(request(3, 0, 'tn_2'));
    await eventually('all is read', () => framesIn(received()).some(({ type, id }) => type === RESET && id === 3));
    assert.equal(grants(), 1);
    session.destroy();
  });

  test('that grants no credit gets no more than the first, and its request does not block others', async () => {
    const { channel, received, session } = await rogueTo(world, node);
    agent.handle = (stream, headers) => {
      if (headers['x-large'] === undefined) agent.answer(stream, headers);
      else {
        stream.respond({ ':status': 200 });
        stream.end(Buffer.alloc(5_000_000));
      }
    };
    channel.write(Buffer.concat([request(1, 0, 'tn_1', ['x-large', '1']), request(2)]));
    await eventually('the other is answered', () =>
      framesIn(received()).some(({ type, id }) => type === END && id === 2),
    );
    const bytes = (): number =>
      framesIn(received())
        .filter(({ type, id }) => type === DATA && id === 1)
        .reduce((sum, { payload }) => sum + payload.length, 0);
    await eventually('the first credit is spent', () => bytes() === 65_536);
    channel.write(number(CREDIT, 1, 1000));
    await eventually('the next is spent', () => bytes() === 66_536);
    channel.write(number(RESET, 1, 8));
    session.destroy();
  });
});
