import assert from 'node:assert/strict';
import { once } from 'node:events';
import { constants, performServerHandshake, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { after, afterEach, suite, test } from 'node:test';
import { createServer, type TLSSocket } from 'node:tls';
import type { AgentLink, OnlineTunnel } from '../../../src/proxy/edge/tunnels/online-tunnels.ts';
import { TunnelUpstream } from '../../../src/proxy/edge/tunnels/tunnel-upstream.ts';
import { TunnelUse } from '../../../src/proxy/edge/tunnels/tunnel-use.ts';
import { DeadlineTicker } from '../../../src/proxy/upstream/deadline-ticker.ts';
import type { RequestBody } from '../../../src/proxy/upstream/upstream.ts';
import { eventually } from '../../tunnel/support/fault-world.ts';
import { Answer, ask, limits } from '../../upstream/ask.ts';
import { HopWorld, TUNNEL } from '../hop/hop-world.ts';
import { newNodeId } from '../support/link-world.ts';
import {
  CREDIT,
  DATA,
  END,
  frame,
  framesIn,
  head,
  INFORMATIONAL,
  number,
  REQUEST,
  RESET,
  RESPONSE,
  request,
} from './frames.ts';

const world = await HopWorld.open({ after }, 1);
const { client } = world;
const ticker = new DeadlineTicker();
const honest = new TunnelUpstream(world.tunnel(), limits, ticker);

let onRequest: ((channel: ServerHttp2Stream, id: number) => void) | null = null;
const channels: ServerHttp2Stream[] = [];

/** A program with a certificate of the authority that says that it has the tunnel. */
async function openRogue(
  onChannel = (stream: ServerHttp2Stream) => stream.respond({ ':status': 200 }),
): Promise<string> {
  const id = newNodeId();
  const { certificatePem: cert, privateKeyPem: key } = await world.links.authority.mint(id, Date.now());
  const server = createServer({ cert, key, ca: world.links.authority.caPem, ALPNProtocols: ['postern-peer/1'] });
  server.on('secureConnection', (socket: TLSSocket) => {
    socket.on('error', () => {});
    const session = performServerHandshake(socket, {});
    session.on('error', () => {});
    session.on('stream', (stream: ServerHttp2Stream, headers) => {
      stream.on('error', () => {});
      if (headers[':path'] !== '/channel/1') return;
      onChannel(stream);
      channels.push(stream);
      const seen = new Set<number>();
      let bytes = Buffer.alloc(0);
      stream.on('data', (chunk: Buffer) => {
        bytes = Buffer.concat([bytes, chunk]);
        for (const one of framesIn(bytes)) {
          if (one.type !== REQUEST || seen.has(one.id)) continue;
          seen.add(one.id);
          onRequest?.(stream, one.id);
        }
      });
    });
    after(() => session.destroy());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  after(() => server.close());
  world.links.installation.put(id, { peerAddress: `127.0.0.1:${(server.address() as AddressInfo).port}` });
  return id;
}

const rogueId = await openRogue();

/** A tunnel that only the rogue has. */
const tunnel: OnlineTunnel = {
  ...{ id: TUNNEL, forwardsTo: 'http://localhost:3000', inFlight: 0, use: new TunnelUse() },
  link: (tried: readonly AgentLink[] = []): AgentLink | null => {
    const link = client.links.get(rogueId);
    return link?.hasRoom === true && !tried.includes(link) ? link : null;
  },
};
const upstream = new TunnelUpstream(tunnel, limits, ticker);

async function linked(): Promise<void> {
  await eventually('it is linked', () => client.links.get(rogueId)?.channel != null);
}

afterEach(async () => {
  assert.equal((await ask(honest)).failure, null);
  await eventually('nothing is left', () => tunnel.inFlight === 0 && ticker.size === 0);
});

const OK = [':status', '200', 'content-type', 'text/plain'];

suite('a node with the agent that breaks the protocol of the channel loses its link:', () => {
  const games: readonly (readonly [string, (id: number) => readonly Buffer[], RegExp])[] = [
    ['a frame larger than allowed', (id) => [frame(RESPONSE, id, Buffer.alloc(140_000))], /a frame of 140000 bytes/],
    ['a request', (id) => [request(id + 1)], /a request from the node with the agent/],
    ['a response to no request', (id) => [head(RESPONSE, id + 5, 200, OK)], /which was not sent/],
    ['data of no request', (id) => [frame(DATA, id + 5, 'x')], /which was not sent/],
    ['a head without its number', (id) => [frame(RESPONSE, id, 'x')], /without its number/],
    ['odd headers', (id) => [head(RESPONSE, id, 200, [':status'])], /without a value/],
    ['a control character', (id) => [head(RESPONSE, id, 200, ['x', 'a\u0000'])], /forbidden character/],
    ['status 0', (id) => [head(RESPONSE, id, 0, OK)], /the status 0/],
    ['status 101', (id) => [head(RESPONSE, id, 101, OK)], /the status 101/],
    ['status 1000', (id) => [head(RESPONSE, id, 1000, OK)], /the status 1000/],
    ['informational status 200', (id) => [head(INFORMATIONAL, id, 200, [])], /the informational status 200/],
    ['informational status 101', (id) => [head(INFORMATIONAL, id, 101, [])], /the informational status 101/],
    ['data before the head', (id) => [frame(DATA, id, 'x')], /data outside of a response/],
    ['an end before the head', (id) => [frame(END, id)], /an end outside of a response/],
    ['two heads', (id) => [head(RESPONSE, id, 200, OK), head(RESPONSE, id, 200, OK)], /two responses/],
    [
      'more data than allowed',
      (id) => [
        head(RESPONSE, id, 200, OK),
        ...Array.from({ length: 5 }, () => frame(DATA, id, Buffer.alloc(15_000_000))),
      ],
      /more data than it was allowed/,
    ],
    ['a credit of nothing', (id) => [number(CREDIT, id, 0)], /a credit of nothing/],
    [
      'odd trailers',
      (id) => [head(RESPONSE, id, 200, OK), frame(DATA, id, 'x'), frame(END, id, 'a')],
      /without a value/,
    ],
    ['too much credit', (id) => [number(CREDIT, id, 0xff_ff_ff_ff)], /too much credit/],
    ['a reset of three bytes', (id) => [frame(RESET, id, 'abc')], /a number of 3 bytes/],
  ];
  for (const [name, frames, why] of games) {
    test(name, async () => {
      await linked();
      client.logged.splice(0);
      onRequest = (channel, id) => {
        channel.write(Buffer.concat([...frames(id)]));
        onRequest = null;
      };
      const answer = new Answer();
      answer.takes = () => false;
      await ask(upstream, { method: 'POST' }, answer);
      assert.notEqual(answer.failure, null);
      assert.equal(answer.trailers, null);
      await eventually('it is logged', () =>
        client.logged.some((line) => line.includes('lost the link') && why.test(line)),
      );
    });
  }
});

suite('a node with the agent', () => {
  test('cannot make a response longer or shorter than announced, and only this request fails', async () => {
    await linked();
    const sized = [...OK, 'content-length', '5'];
    const games: readonly ((id: number) => readonly Buffer[])[] = [
      (id) => [head(RESPONSE, id, 200, sized), frame(DATA, id, 'x'.repeat(6)), frame(END, id)],
      (id) => [head(RESPONSE, id, 200, sized), frame(DATA, id, 'x'.repeat(5)), frame(DATA, id, 'HTTP/1.1 200 OK')],
      (id) => [head(RESPONSE, id, 200, sized), frame(DATA, id, 'x'.repeat(4)), frame(END, id)],
      (id) => [head(RESPONSE, id, 204, OK), frame(DATA, id, 'x'), frame(END, id)],
      (id) => [head(RESPONSE, id, 200 + 0x80_00, OK), frame(DATA, id, 'x'), frame(END, id)],
    ];
    const link = client.links.get(rogueId);
    for (const [at, frames] of games.entries()) {
      onRequest = (channel, id) => void channel.write(Buffer.concat([...frames(id)]));
      const answer = await ask(upstream, { method: 'POST' });
      // The last one is complete before its data, which belongs to nobody.
      if (at < 4) assert.equal(answer.failure?.reason, 'malformed', String(at));
      assert.ok(answer.bytes <= 5);
    }
    assert.equal(client.links.get(rogueId), link);
  });

  test('that falls silent on the channel costs a request its deadline and nothing else', async () => {
    await linked();
    onRequest = () => {};
    const waiting = ask(new TunnelUpstream(tunnel, { ...limits, responseTimeoutMs: 300 }, ticker), { method: 'POST' });
    assert.equal((await waiting).failure?.reason, 'timeout');
  });

  test('that never asks for the body does not get it, and may ask twice', async () => {
    await linked();
    const bodyOf = (): RequestBody => {
      const source = Readable.from([Buffer.from('body')]);
      return { framing: 'length', bytes: 4, source, expectsContinue: false };
    };
    onRequest = (channel, id) => void channel.write(number(RESET, id, 7));
    assert.equal((await ask(upstream, { method: 'POST', body: bodyOf() })).failure?.reason, 'no_tunnel');
    onRequest = (channel, id) =>
      void channel.write(
        Buffer.concat([
          number(CREDIT, id, 1),
          number(CREDIT, id, 2),
          number(CREDIT, id, 100),
          head(RESPONSE, id, 200, OK),
          frame(END, id),
        ]),
      );
    assert.equal((await ask(upstream, { method: 'POST', body: bodyOf() })).head?.status, 200);
  });

  test('that resets the channel gets no further stream on this connection', async () => {
    await linked();
    const link = client.links.get(rogueId);
    onRequest = (channel) => {
      onRequest = null;
      channel.close(8);
    };
    const answer = new Answer();
    let hadRoom: boolean | undefined;
    answer.onCall = () => {
      hadRoom = link?.hasRoom;
    };
    await ask(upstream, { method: 'POST' }, answer);
    assert.notEqual(answer.failure, null);
    assert.equal(hadRoom, false);
  });

  test('that ends or resets the channel costs its requests, and is linked again', async () => {
    for (const leave of [
      (channel: ServerHttp2Stream) => channel.end(),
      (channel: ServerHttp2Stream) => channel.close(8),
      (channel: ServerHttp2Stream) => channel.close(0),
      (channel: ServerHttp2Stream) => channel.session?.close(),
      (channel: ServerHttp2Stream) => channel.session?.destroy(),
    ]) {
      await linked();
      onRequest = (channel, id) => {
        channel.write(head(RESPONSE, id, 200, OK));
        leave(channel);
        onRequest = null;
      };
      const answer = new Answer();
      setTimeout(() => channels.at(-1)?.session?.destroy(), 300);
      await ask(upstream, { method: 'POST' }, answer);
      assert.equal(answer.trailers, null);
      assert.notEqual(answer.failure, null);
    }
    await linked();
  });
});

suite('a node that answers pings', () => {
  const strangers: readonly (readonly [string, (stream: ServerHttp2Stream) => void, RegExp])[] = [
    [
      'and rejects the channel',
      (stream) => stream.respond({ ':status': 404 }, { endStream: true }),
      /did not accept the channel"/,
    ],
    [
      'and resets the channel',
      (stream) => stream.close(constants.NGHTTP2_REFUSED_STREAM),
      /did not accept the channel"/,
    ],
    ['and does not answer the channel', () => {}, /did not accept the channel within 5000 ms"/],
  ];
  for (const [name, onChannel, reason] of strangers) {
    test(`${name} is not in rotation, and the log says why`, async () => {
      const id = await openRogue(onChannel);
      const lines = (): string => client.logged.filter((line) => line.includes(id)).join('\n');
      await eventually('the reason is logged', () => reason.test(lines()));
      assert.equal(client.links.get(id), undefined);
      assert.doesNotMatch(lines(), /linked to a node/);
      world.links.installation.remove(id);
    });
  }
});
