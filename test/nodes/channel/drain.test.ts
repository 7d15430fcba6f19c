import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { TunnelUpstream } from '../../../src/proxy/edge/tunnels/tunnel-upstream.ts';
import { DeadlineTicker } from '../../../src/proxy/upstream/deadline-ticker.ts';
import { eventually } from '../../tunnel/support/fault-world.ts';
import { ask, limits } from '../../upstream/ask.ts';
import { type Holder, HopWorld } from '../hop/hop-world.ts';
import { END, framesIn, RESET, request } from './frames.ts';
import { rogueTo } from './rogue-client.ts';

async function opened(): Promise<{ readonly world: HopWorld; readonly holder: Holder }> {
  const world = await HopWorld.open({ after }, 1);
  const [holder] = world.holders;
  assert.ok(holder);
  return { world, holder };
}

suite('a node with an agent that is being stopped', () => {
  test('finishes requests on a channel, and refuses new ones', async () => {
    const { world, holder } = await opened();
    const { node, agent } = holder;
    const { channel, received } = await rogueTo(world, node);
    let finish = (): void => {};
    agent.handle = (stream) => {
      stream.respond({ ':status': 200 });
      finish = () => stream.end('done');
    };
    channel.write(request(1));
    await eventually('the agent has it', () => agent.active === 1);
    const drained = node.links.drain(10_000);
    channel.write(request(2));
    await eventually('it is refused', () => framesIn(received()).some(({ type, id }) => type === RESET && id === 2));
    finish();
    await eventually('the first ends', () => framesIn(received()).some(({ type, id }) => type === END && id === 1));
    await drained;
  });

  test('does not close before the last bytes of its responses are read', async () => {
    const { world, holder } = await opened();
    const { node, agent } = holder;
    const { channel, received } = await rogueTo(world, node);
    agent.handle = (stream) => {
      stream.respond({ ':status': 200 });
      stream.end(Buffer.alloc(60_000));
    };
    channel.pause();
    for (let id = 1; id <= 8; id += 1) channel.write(request(id));
    await eventually('the agent has answered', () => agent.active === 0);
    await sleep(100);
    let isDrained = false;
    const drained = node.links.drain(20_000).then(() => {
      isDrained = true;
    });
    await sleep(1_500);
    assert.equal(isDrained, false);
    channel.resume();
    await drained;
    await eventually('all have ended', () => framesIn(received()).filter(({ type }) => type === END).length === 8);
  });
});

suite('a node with clients', () => {
  test('finishes its requests on the channel of a node that is being stopped', async () => {
    const { world, holder } = await opened();
    const { node, agent } = holder;
    const tunnel = world.tunnel();
    const upstream = new TunnelUpstream(tunnel, limits, new DeadlineTicker());
    let finish = (): void => {};
    agent.handle = (stream) => {
      stream.respond({ ':status': 200 });
      stream.write('a');
      finish = () => stream.end('b');
    };
    const over = ask(upstream);
    await eventually('the agent has it', () => agent.active === 1);
    const drained = node.links.drain(10_000);
    await eventually('the link is out of rotation', () => world.linkTo(node) === undefined);
    assert.equal((await ask(upstream)).failure?.reason, 'no_tunnel');
    finish();
    const answer = await over;
    assert.deepEqual([answer.failure, answer.body], [null, 'ab']);
    // Not after the limit: the other node closes its connection as soon as it has no more requests.
    const startedMs = performance.now();
    await drained;
    assert.ok(performance.now() - startedMs < 5_000);
  });
});
