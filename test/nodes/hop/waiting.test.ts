import assert from 'node:assert/strict';
import { once } from 'node:events';
import { constants } from 'node:http2';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { after, afterEach, suite, test } from 'node:test';
import { RawConnection } from '../../../src/proxy/edge/tunnels/raw-connections.ts';
import { NO_TUNNELS } from '../../../src/proxy/edge/tunnels/tunnel-traffic.ts';
import { TunnelUpstream } from '../../../src/proxy/edge/tunnels/tunnel-upstream.ts';
import { DeadlineTicker } from '../../../src/proxy/upstream/deadline-ticker.ts';
import { Announcement } from '../../../src/tunnel/nodes/directory/announced.ts';
import { DirectoryTunnel } from '../../../src/tunnel/nodes/directory/directory-tunnel.ts';
import { eventually } from '../../tunnel/support/fault-world.ts';
import { Answer, ask, limits } from '../../upstream/ask.ts';
import { type Holder, HopWorld, TUNNEL } from './hop-world.ts';

/**
 * Nodes that announce a tunnel and may not serve it: the lease of its home has ended, and nobody has taken over yet.
 */
const world = await HopWorld.open({ after }, 2);
const [first, second] = world.holders as [Holder, Holder];
let holders = world.holders.map(({ node }) => new Announcement(node.id));
const announced = { id: TUNNEL, sessionId: 'ts_1', epoch: 1, doc: {}, labels: null, forwardsTo: '', endpoint: null };

function newTunnel(): DirectoryTunnel {
  const tunnel = new DirectoryTunnel(announced, 1, { local: NO_TUNNELS.online, links: world.client.links });
  holders = world.holders.map(({ node }) => new Announcement(node.id));
  tunnel.holders = holders;
  return tunnel;
}

function suspendAll(): void {
  for (const { tunnels } of world.holders) tunnels.remove(TUNNEL);
}

function upstreamOf(tunnel: DirectoryTunnel): TunnelUpstream {
  return new TunnelUpstream(tunnel, limits, new DeadlineTicker());
}

afterEach(() => {
  for (const { agent, tunnels } of world.holders) {
    agent.seen.splice(0);
    agent.handle = (stream, headers) => agent.answer(stream, headers);
    if (tunnels.get(TUNNEL) === undefined) tunnels.add(TUNNEL, agent);
  }
});

suite('visitors of a tunnel that no node may serve at the moment', () => {
  test('wait, and their requests are sent once, with their bodies, when a node may', async () => {
    const tunnel = newTunnel();
    suspendAll();
    const upstream = upstreamOf(tunnel);
    const visitors = [1, 2, 3].map((n) => {
      const source = Readable.from([Buffer.from(`body ${n}`)]);
      const body = { framing: 'length', bytes: 6, source, expectsContinue: false } as const;
      return ask(upstream, { method: 'POST', body });
    });
    await eventually('its streams are refused', () => tunnel.isSuspended);
    second.tunnels.add(TUNNEL, second.agent);
    const answers = await Promise.all(visitors);
    assert.deepEqual(
      answers.map(({ failure }) => failure),
      [null, null, null],
    );
    assert.deepEqual(second.agent.seen.map(({ body }) => body).toSorted(), ['body 1', 'body 2', 'body 3']);
    assert.deepEqual(first.agent.seen, []);
    assert.equal(tunnel.inFlight, 0);
  });

  test('get an answer at once when the nodes withdraw it', async () => {
    const tunnel = newTunnel();
    suspendAll();
    const visitor = ask(upstreamOf(tunnel));
    await eventually('its streams are refused', () => tunnel.isSuspended);
    for (const holder of holders) holder.isUp = false;
    const { failure } = await visitor;
    assert.deepEqual([failure?.reason, failure?.mayHaveBeenSent], ['no_tunnel', false]);
  });

  test('give up in the end', async () => {
    const tunnel = newTunnel();
    suspendAll();
    const { failure } = await ask(upstreamOf(tunnel));
    assert.deepEqual([failure?.reason, failure?.mayHaveBeenSent], ['no_tunnel', false]);
  });

  test('do not send on what they left', async () => {
    const tunnel = newTunnel();
    suspendAll();
    const upstream = upstreamOf(tunnel);
    const leaving = new Answer();
    void ask(upstream, { target: '/left' }, leaving);
    await eventually('its streams are refused', () => tunnel.isSuspended);
    leaving.exchange?.abort();
    first.tunnels.add(TUNNEL, first.agent);
    assert.equal((await ask(upstream, { target: '/stayed' })).failure, null);
    assert.deepEqual(
      first.agent.seen.map(({ headers }) => headers[':path']),
      ['/stayed'],
    );
  });

  test('do not all try again at once', async () => {
    const tunnel = newTunnel();
    suspendAll();
    let looks = 0;
    const get = first.tunnels.get.bind(first.tunnels);
    first.tunnels.get = (id) => {
      looks += 1;
      return get(id);
    };
    const upstream = upstreamOf(tunnel);
    const visitor = ask(upstream);
    await eventually('its streams are refused', () => tunnel.isSuspended);
    const visitors = await Promise.all([visitor, ...Array.from({ length: 200 }, () => ask(upstream))]);
    first.tunnels.get = get;
    assert.ok(visitors.every(({ failure }) => failure?.reason === 'no_tunnel'));
    assert.ok(looks < visitors.length, `${looks} streams`);
  });

  test('send a safe request again when the only node with the right is lost', async () => {
    const tunnel = newTunnel();
    second.tunnels.remove(TUNNEL);
    first.agent.handle = () => {
      first.hole.cut();
      setTimeout(() => second.tunnels.add(TUNNEL, second.agent), 100);
    };
    const { failure, body } = await ask(upstreamOf(tunnel));
    assert.equal(failure, null);
    assert.match(body, /agent-1/);
    await eventually('it is linked again', () => world.isLinkedTo(first.node));
  });

  test('send a safe request again when one node refuses and the other one is lost', async () => {
    const tunnel = newTunnel();
    first.tunnels.remove(TUNNEL);
    second.agent.handle = () => {
      second.hole.cut();
      setTimeout(() => first.tunnels.add(TUNNEL, first.agent), 100);
    };
    const { failure, body } = await ask(upstreamOf(tunnel));
    assert.equal(failure, null);
    assert.match(body, /agent-0/);
    await eventually('it is linked again', () => world.isLinkedTo(second.node));
  });

  test('do not wait longer when each refusal comes late', async () => {
    let streams = 0;
    for (const { agent } of world.holders) {
      agent.handle = (stream) => {
        streams += 1;
        setTimeout(() => stream.close(constants.NGHTTP2_REFUSED_STREAM), 200);
      };
    }
    const { failure } = await ask(upstreamOf(newTunnel()));
    assert.equal(failure?.reason, 'no_tunnel');
    assert.ok(streams < 30, `${streams} streams`);
  });

  test('keep their connections to a port', async () => {
    const tunnel = newTunnel();
    suspendAll();
    second.agent.handle = (stream) => {
      stream.respond({ ':status': 200 });
      stream.pipe(stream);
    };
    const { promise: outcome, resolve: onOver } = Promise.withResolvers<string>();
    const [client, socket] = await sockets();
    new RawConnection({ socket, clientAddress: '192.0.2.1:1', tunnel, connectTimeoutMs: 10_000, onOver }).start();
    await eventually('its streams are refused', () => tunnel.isSuspended);
    second.tunnels.add(TUNNEL, second.agent);
    client.end('hello');
    const [answer] = (await once(client, 'data')) as [Buffer];
    assert.equal(answer.toString(), 'hello');
    assert.equal(await outcome, 'done');
  });
});

/** A client's socket, and the same connection as the edge sees it. */
async function sockets(): Promise<readonly [Socket, Socket]> {
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', allowHalfOpen: true });
  const [accepted] = (await once(server, 'connection')) as [Socket];
  server.close();
  after(() => client.destroy());
  return [client.on('error', () => {}), accepted];
}
