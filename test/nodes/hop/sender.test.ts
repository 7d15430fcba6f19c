import assert from 'node:assert/strict';
import { once } from 'node:events';
import { constants } from 'node:http2';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { after, afterEach, suite, test } from 'node:test';
import type { AgentLink } from '../../../src/proxy/edge/tunnels/online-tunnels.ts';
import { RawConnection } from '../../../src/proxy/edge/tunnels/raw-connections.ts';
import { TunnelUpstream } from '../../../src/proxy/edge/tunnels/tunnel-upstream.ts';
import { DeadlineTicker } from '../../../src/proxy/upstream/deadline-ticker.ts';
import type { RequestBody } from '../../../src/proxy/upstream/upstream.ts';
import type { FakeAgent } from '../../edge/tunnels/fake-agent.ts';
import { eventually } from '../../tunnel/support/fault-world.ts';
import { Answer, ask, limits } from '../../upstream/ask.ts';
import { type Holder, HopWorld, TUNNEL } from './hop-world.ts';

function bodyOf(text: string): RequestBody {
  const source = Readable.from([Buffer.from(text)]);
  return { framing: 'length', bytes: text.length, source, expectsContinue: false };
}

function nameIn({ body }: Answer): string {
  return (JSON.parse(body) as { readonly name: string }).name;
}

function seenBy(agent: FakeAgent): readonly string[] {
  return agent.seen.map(({ body }) => body);
}

suite('a channel', async () => {
  const world = await HopWorld.open({ after }, 3, 6);
  const [first, second, third] = world.holders as [Holder, Holder, Holder];
  const tunnel = world.tunnel();
  const upstream = new TunnelUpstream(tunnel, limits, new DeadlineTicker());

  afterEach(async () => {
    for (const { agent, hole, tunnels } of world.holders) {
      hole.isSilent = false;
      agent.handle = (stream, headers) => agent.answer(stream, headers);
      agent.seen.splice(0);
      if (tunnels.get(TUNNEL) === undefined) tunnels.add(TUNNEL, agent);
    }
    await eventually(
      'nothing is left',
      () => tunnel.inFlight === 0 && world.holders.every(({ agent }) => agent.active === 0),
    );
    await eventually('all are linked', () => world.holders.every(({ node }) => world.isLinkedTo(node)));
  });

  suite('a request over a hop', () => {
    test('reaches the agent with its body, and the response comes back without the internal head', async () => {
      const answer = await ask(upstream, { method: 'POST', body: bodyOf('hello') });
      assert.equal(answer.failure, null);
      assert.equal(nameIn(answer), 'agent-0');
      assert.deepEqual(answer.informational, []);
      assert.deepEqual(seenBy(first.agent), ['hello']);
    });

    test('goes to the next holder when a node no longer has the tunnel, with the whole body', async () => {
      first.tunnels.remove(TUNNEL);
      second.tunnels.remove(TUNNEL);
      const answer = await ask(upstream, { method: 'POST', body: bodyOf('the whole body') });
      assert.equal(nameIn(answer), 'agent-2');
      assert.deepEqual(seenBy(third.agent), ['the whole body']);
    });

    test('goes on to further holders when a connection to the agent here refuses it too', async () => {
      first.tunnels.remove(TUNNEL);
      second.agent.handle = (stream) => stream.close(constants.NGHTTP2_REFUSED_STREAM);
      const ways = [world.linkTo(first.node), second.tunnels.get(TUNNEL)?.link(), world.linkTo(third.node)];
      const link = (tried: readonly AgentLink[] = []): AgentLink | null =>
        ways.find((way) => way !== undefined && way !== null && !tried.includes(way)) ?? null;
      const mixed = new TunnelUpstream({ ...tunnel, link }, limits, new DeadlineTicker());
      const answer = await ask(mixed, { method: 'POST' });
      assert.equal(answer.failure, null);
      assert.equal(nameIn(answer), 'agent-2');
    });

    test('ends normally when its node leaves the installation in the meantime', async () => {
      const { installation } = world.links;
      const { node, agent, hole } = first;
      agent.handle = (stream, headers) => {
        installation.remove(node.id);
        setTimeout(() => agent.answer(stream, headers), 100);
      };
      const answer = await ask(upstream, { method: 'POST', body: bodyOf('the whole body') });
      assert.equal(world.linkTo(node), undefined);
      assert.equal(answer.failure, null);
      assert.equal(nameIn(answer), 'agent-0');
      installation.put(node.id, { peerAddress: hole.address });
    });

    test('with a body that expects 100-continue waits for both, the node and the service', async () => {
      first.tunnels.remove(TUNNEL);
      const source = Readable.from([Buffer.from('late')]);
      second.agent.handle = (stream, headers) => {
        stream.additionalHeaders({ ':status': 100 });
        second.agent.answer(stream, headers);
      };
      const body: RequestBody = { framing: 'length', bytes: 4, source, expectsContinue: true };
      const answer = await ask(upstream, { method: 'PUT', body });
      assert.equal(nameIn(answer), 'agent-1');
      assert.deepEqual(answer.informational, [[100, []]]);
      assert.deepEqual(seenBy(second.agent), ['late']);
    });

    test('fails without having been sent when no holder is left, so that another member may receive it', async () => {
      for (const { tunnels } of world.holders) tunnels.remove(TUNNEL);
      const answer = await ask(upstream, { method: 'POST', body: bodyOf('x') });
      assert.deepEqual([answer.failure?.reason, answer.failure?.mayHaveBeenSent], ['no_tunnel', false]);
    });

    test('is repeated elsewhere when the link breaks before an answer, if it is safe', async () => {
      first.agent.handle = () => first.hole.cut();
      const answer = await ask(upstream);
      assert.equal(nameIn(answer), 'agent-1');
    });

    test('is repeated elsewhere when the node falls silent, if it is safe', async () => {
      first.agent.handle = () => {
        first.hole.isSilent = true;
      };
      const answer = await ask(upstream);
      assert.equal(nameIn(answer), 'agent-1');
    });

    test('is not repeated when the service may have received it', async () => {
      for (const parts of [{ method: 'POST' }, { method: 'POST', body: bodyOf('x') }]) {
        first.agent.handle = () => first.hole.cut();
        const answer = await ask(upstream, parts);
        assert.equal(answer.failure?.mayHaveBeenSent, true);
        assert.equal(second.agent.seen.length, 0);
        await eventually('it is linked again', () => world.isLinkedTo(first.node));
      }
    });

    test('is repeated over the same link when the node lost one of its connections to the agent', async () => {
      second.tunnels.remove(TUNNEL);
      third.tunnels.remove(TUNNEL);
      let streams = 0;
      first.agent.handle = (stream, headers) => {
        streams += 1;
        if (streams === 1) stream.session?.destroy();
        else first.agent.answer(stream, headers);
      };
      const answer = await ask(upstream);
      assert.equal(answer.failure, null);
      assert.equal(nameIn(answer), 'agent-0');
      assert.equal(streams, 2);
    });

    test('that is cut in the middle of the response never looks whole', async () => {
      for (const isLinkCut of [true, false]) {
        let cutAgent = (): void => {};
        first.agent.handle = (stream) => {
          cutAgent = () => stream.session?.destroy();
          stream.respond({ ':status': 200 });
          stream.write('a part');
        };
        const answer = new Answer();
        answer.onCall = (call) => {
          if (call !== 'data') return;
          if (isLinkCut) first.hole.cut();
          else cutAgent();
        };
        await ask(upstream, {}, answer);
        assert.deepEqual([answer.failure?.phase, answer.trailers], ['body', null]);
        await eventually('it is linked again', () => world.isLinkedTo(first.node));
      }
    });
  });

  suite('a connection over a hop', () => {
    /** A client's socket, and the same connection as the edge sees it. */
    async function sockets(): Promise<readonly [Socket, Socket]> {
      const server = createServer({ allowHalfOpen: true, pauseOnConnect: true });
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const client = connect({
        port: (server.address() as AddressInfo).port,
        host: '127.0.0.1',
        allowHalfOpen: true,
      });
      const [accepted] = (await once(server, 'connection')) as [Socket];
      server.close();
      after(() => client.destroy());
      return [client.on('error', () => {}), accepted];
    }

    async function carried(): Promise<{ readonly client: Socket; readonly outcome: Promise<string> }> {
      const [client, socket] = await sockets();
      const { promise: outcome, resolve: onOver } = Promise.withResolvers<string>();
      new RawConnection({ socket, clientAddress: '192.0.2.1:1', tunnel, connectTimeoutMs: 10_000, onOver }).start();
      return { client, outcome };
    }

    function echo({ agent }: Holder): void {
      agent.handle = (stream) => {
        stream.respond({ ':status': 200 });
        stream.write('hello ');
        stream.pipe(stream);
      };
    }

    test('goes to the next holder when a node no longer has the tunnel, or its link breaks before an answer', async () => {
      second.agent.handle = () => second.hole.cut();
      first.tunnels.remove(TUNNEL);
      echo(third);
      const { client, outcome } = await carried();
      const chunks: Buffer[] = [];
      client.on('data', (chunk: Buffer) => chunks.push(chunk));
      client.end('world');
      await once(client, 'end');
      assert.equal(Buffer.concat(chunks).toString(), 'hello world');
      assert.equal(await outcome, 'done');
    });

    test('is broken off, not ended, when the link breaks', async () => {
      echo(first);
      const { client, outcome } = await carried();
      client.write('some');
      await once(client, 'data');
      let isEnded = false;
      client.on('end', () => {
        isEnded = true;
      });
      for (const { hole } of world.holders) hole.cut();
      await eventually('it is closed', () => client.destroyed);
      assert.equal(isEnded, false);
      assert.equal(await outcome, 'agent_gone');
    });

    test('is rejected when no holder is left', async () => {
      for (const { tunnels } of world.holders) tunnels.remove(TUNNEL);
      const { client, outcome } = await carried();
      client.resume();
      assert.equal(await outcome, 'no_tunnel');
    });
  });
});
