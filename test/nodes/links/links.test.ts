import assert from 'node:assert/strict';
import { once } from 'node:events';
import { constants, type ServerHttp2Stream } from 'node:http2';
import { after, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NodeLinks } from '../../../src/tunnel/nodes/links/node-links.ts';
import {
  type FeedFollower,
  MAX_UNSENT_BYTES,
  PeerRefusal,
  PeerUnreachable,
} from '../../../src/tunnel/nodes/links/peer-links.ts';
import { eventually } from '../../tunnel/support/fault-world.ts';
import { BlackHole, type LinkedNode, LinkWorld, newNodeId } from '../support/link-world.ts';

const world = await LinkWorld.open({ after });
const followers: FeedFollower[] = [];
const hanging: (() => void)[] = [];
let streamsOfB: ServerHttp2Stream[] = [];
const a = await world.node();
const b = await world.node({
  start: (links) => {
    links.serve('echo', async (message, from) => ({ ...message, from }));
    links.serve('session.echo', async (message, from) => ({ ...message, from }));
    links.serve('session.refuse', async () => {
      throw new PeerRefusal('ERR_OF_B', 'because of a test');
    });
    links.serve('refuse', async () => {
      throw new PeerRefusal('ERR_OF_B', 'because of a test');
    });
    links.serve('wordy', async () => {
      throw new PeerRefusal('ERR_OF_B', '\ufffd'.repeat(30_000));
    });
    links.serve('broken', async () => {
      throw new TypeError('a bug with a secret');
    });
    links.serve('large', async () => ({ text: 'x'.repeat(70_000) }));
    links.serve('hang', () => new Promise((resolve) => hanging.push(() => resolve({}))));
    links.serveFeed('numbers', (follower) => followers.push(follower));
    links.serveStreams((stream, headers, _raw, onClosed) => {
      if (headers[':authority'] === 'tn_bug') throw new TypeError('a bug with a secret');
      streamsOfB.push(stream);
      stream.on('close', onClosed);
      return true;
    });
  },
});
await linked(a, b);
await linked(b, a);

async function linked(from: LinkedNode, to: LinkedNode): Promise<void> {
  await eventually(`${from.id} is linked to ${to.id}`, () => from.links.get(to.id) !== undefined);
}

suite('calls', () => {
  test('carry a message, the caller and the answer', async () => {
    assert.deepEqual(await a.links.call(b.id, 'echo', { text: 'ä', list: [1, null] }), {
      ...{ text: 'ä', list: [1, null] },
      from: a.id,
    });
  });

  test('reject with a refusal whose text is too long for an answer, shortened', async () => {
    await assert.rejects(a.links.call(b.id, 'wordy', {}), (error) => {
      assert.ok(error instanceof PeerRefusal && error.code === 'ERR_OF_B');
      assert.match(error.message, /^\ufffd{1000,}$/);
      return true;
    });
  });

  test('reject with the refusal of the other node', async () => {
    await assert.rejects(a.links.call(b.id, 'refuse', {}), (error) => {
      assert.ok(error instanceof PeerRefusal);
      assert.deepEqual([error.code, error.message], ['ERR_OF_B', 'because of a test']);
      return true;
    });
    await assert.rejects(a.links.call(b.id, 'unheard_of', {}), { code: 'unknown_method' });
  });

  test('reach a node without a link over another one, in the name of the caller', async () => {
    const c = await world.node();
    await linked(c, a);
    assert.deepEqual(await c.links.relay(b.id, 'session.echo', { text: 'x' }, 2_000), { text: 'x', from: c.id });
    await assert.rejects(c.links.relay(b.id, 'session.refuse', {}, 2_000), { code: 'ERR_OF_B' });
    await assert.rejects(c.links.relay(b.id, 'echo', {}, 2_000), { code: 'malformed' });
    await assert.rejects(c.links.relay(newNodeId(), 'session.echo', {}, 2_000), PeerUnreachable);
    const inTheNameOf = (from: string) => ({ from, method: 'session.echo', message: {} });
    for (const from of [a.id, b.id, newNodeId()]) {
      await assert.rejects(a.links.call(b.id, 'node.relayed', inTheNameOf(from)), { code: 'unknown_node' });
    }
    await assert.rejects(a.links.call(b.id, 'node.relay', { to: b.id }), { code: 'malformed' });
    await c.links.drain(0);
    world.installation.remove(c.id);
  });

  test('hide what went wrong inside the other node', async () => {
    for (const method of ['broken', 'large']) {
      await assert.rejects(a.links.call(b.id, method, {}), (error) => {
        assert.ok(error instanceof PeerRefusal);
        assert.deepEqual([error.code, error.message], ['failed', 'the node has an internal error']);
        return true;
      });
    }
  });

  test('reject a message that is too long to be sent', async () => {
    await assert.rejects(a.links.call(b.id, 'echo', { text: 'x'.repeat(65_536) }), RangeError);
    assert.deepEqual(await a.links.call(b.id, 'echo', {}), { from: a.id });
  });

  test('reject when there is no link, and when no answer comes in time', async () => {
    await assert.rejects(a.links.call(newNodeId(), 'echo', {}), PeerUnreachable);
    await assert.rejects(a.links.call(b.id, 'hang', {}, 50), /no response within 50 ms/);
    for (const end of hanging.splice(0)) end();
  });

  test('without an answer in time make the node doubtful until it answers a ping', async () => {
    const link = a.links.get(b.id);
    await eventually('it answers', () => link?.isDoubted === false);
    await assert.rejects(a.links.call(b.id, 'hang', {}, 50), PeerUnreachable);
    assert.equal(link?.isDoubted, true);
    await eventually('only the handler was slow', () => link?.isDoubted === false);
    assert.equal(a.links.get(b.id), link);
    for (const end of hanging.splice(0)) end();
  });

  test('are limited in number on both sides', async () => {
    const calls = Array.from({ length: 1_100 }, () => a.links.call(b.id, 'hang', {}, 60_000));
    const outcomes = Promise.allSettled(calls);
    await eventually('all others are refused', () => hanging.length === 1_000);
    for (const end of hanging.splice(0)) end();
    const refused = (await outcomes).filter(({ status }) => status === 'rejected');
    assert.equal(refused.length, 100);
    assert.deepEqual(await a.links.call(b.id, 'echo', {}), { from: a.id });
  });
});

suite('feeds', () => {
  const lines: string[] = [];
  let ends = 0;
  let close = (): void => {};
  a.links.followFeeds('numbers', (_nodeId, feed) => {
    close = () => feed.close();
    return { onLine: (line) => void lines.push(line), onEnd: () => ends++ };
  });

  async function newFollower(): Promise<FeedFollower> {
    await eventually('somebody follows', () => followers.length > 0);
    return followers.shift() as FeedFollower;
  }

  test('carry lines in order, and are opened again when the reader closes them', async () => {
    const follower = await newFollower();
    assert.equal(follower.nodeId, a.id);
    let isGone = false;
    follower.onGone(() => {
      isGone = true;
    });
    const long = 'ö'.repeat(131_072);
    for (const line of ['one', '', long]) assert.ok(follower.send(line));
    await eventually('all lines arrive', () => lines.length === 3);
    assert.deepEqual(lines.splice(0), ['one', '', long]);
    close();
    await eventually('the follower is gone', () => isGone);
    assert.equal(ends, 1);
    assert.equal(follower.send('late'), false);
    const next = await newFollower();
    next.send('again');
    await eventually('the new feed works', () => lines.length === 1);
    assert.deepEqual(lines.splice(0), ['again']);
  });

  test('end when a line is too long, and never deliver a part of it', async () => {
    close();
    const follower = await newFollower();
    assert.throws(() => follower.send('x'.repeat(262_145)), RangeError);
    follower.send('fine');
    await eventually('the line arrives', () => lines.length === 1);
    assert.deepEqual(lines.splice(0), ['fine']);
  });

  test('disconnect a follower that does not read', async () => {
    close();
    const follower = await newFollower();
    const line = 'x'.repeat(200_000);
    let sent = 0;
    // Nothing is sent before this turn ends, as if nobody read.
    while (follower.send(line)) sent += line.length;
    assert.ok(sent >= MAX_UNSENT_BYTES && sent < 2 * MAX_UNSENT_BYTES, `${sent}`);
    assert.equal(follower.send('more'), false);
    const next = await newFollower();
    lines.splice(0);
    assert.ok(next.send('again'));
    await eventually('the next one is served', () => lines.includes('again'));
  });

  test('tell the sender when there is room again', async () => {
    close();
    const follower = await newFollower();
    lines.splice(0);
    let sent = 0;
    const send = (): void => {
      while (sent < 2_000 && follower.hasRoom) {
        sent += 1;
        follower.send(`${sent} ${'x'.repeat(10_000)}`);
      }
    };
    follower.onRoom(send);
    send();
    await eventually('all arrive', () => lines.length === 2_000);
    assert.ok(lines.every((line, at) => line.startsWith(`${at + 1} `)));
  });
});

suite('streams', () => {
  test('for tunnels reach the handler', async () => {
    const link = a.links.get(b.id);
    assert.ok(link);
    const before = link.active;
    const heads = [
      [':method', 'CONNECT', ':authority', 'tn_1'],
      [':method', 'CONNECT', ':protocol', 'websocket', ':scheme', 'https', ':authority', 'x', ':path', '/'],
    ];
    for (const head of heads) {
      streamsOfB = [];
      const stream = link.request(head, { endStream: false, waitForTrailers: false });
      await eventually('it arrives', () => streamsOfB.length === 1);
      streamsOfB[0]?.respond([':status', '204'], { endStream: true });
      const [answer] = (await once(stream, 'response')) as [Record<string, unknown>];
      assert.equal(answer[':status'], 204);
      stream.destroy();
      link.release(stream);
    }
    assert.equal(link.active, before);
  });

  test('break off alone when their handler has a bug', async () => {
    const link = a.links.get(b.id);
    assert.ok(link);
    const stream = link.request([':method', 'CONNECT', ':authority', 'tn_bug'], {
      ...{ endStream: false, waitForTrailers: false },
    });
    stream.on('error', () => {});
    await eventually('it is broken off', () => stream.closed);
    link.release(stream);
    assert.equal(stream.rstCode, constants.NGHTTP2_INTERNAL_ERROR);
    assert.equal(a.links.get(b.id), link);
    assert.deepEqual(await a.links.call(b.id, 'echo', {}), { from: a.id });
  });

  test('are refused unprocessed by a node that serves none', async () => {
    const link = b.links.get(a.id);
    assert.ok(link);
    const stream = link.request([':method', 'CONNECT', ':authority', 'tn_1'], {
      endStream: false,
      waitForTrailers: false,
    });
    stream.on('error', () => {});
    await eventually('it is refused', () => stream.closed);
    link.release(stream);
    assert.equal(stream.rstCode, constants.NGHTTP2_REFUSED_STREAM);
  });
});

suite('links', () => {
  test('follow the membership: a node that goes is forgotten, one that comes is dialled', async () => {
    const c = await world.node();
    await Promise.all([linked(a, c), linked(c, a), linked(c, b)]);
    world.installation.remove(c.id);
    await eventually('it is gone', () => a.links.get(c.id) === undefined && b.links.get(c.id) === undefined);
  });

  test('reach a node that was restarted on the same address, under its new id only', async () => {
    const first = await world.node();
    await linked(a, first);
    const downs: string[] = [];
    a.links.onDown((link) => downs.push(link.nodeId));
    await first.links.drain(0);
    await eventually('the old one is down', () => downs.includes(first.id));
    const second = await world.node({ port: first.port });
    await Promise.all([linked(a, second), linked(second, a)]);
    await eventually('the old id is refused', () =>
      a.logged.some((line) => line.includes(`another node (${second.id}) answers there`)),
    );
    assert.equal(a.links.get(first.id), undefined);
    world.installation.remove(first.id);
    await second.links.drain(0);
    world.installation.remove(second.id);
  });

  test('end at once when the connection breaks, and come back', async () => {
    let port = 0;
    const hole = await BlackHole.open({ after }, () => port);
    const c = await world.node({ through: hole.address });
    port = c.port;
    await linked(a, c);
    let downs = 0;
    const off = a.links.onDown(({ nodeId }) => {
      downs += Number(nodeId === c.id);
    });
    const call = a.links.call(c.id, 'never_answered', {});
    void call.catch(() => {});
    hole.cut();
    await eventually('it is down', () => downs === 1);
    await linked(a, c);
    off();
    world.installation.remove(c.id);
    await c.links.drain(0);
  });

  test('end after 1.5 s of silence, with the time at which the node was last alive', async () => {
    let port = 0;
    const hole = await BlackHole.open({ after }, () => port);
    const start = (links: NodeLinks): void => links.serve('hang', () => new Promise(() => {}));
    const c = await world.node({ start, through: hole.address });
    port = c.port;
    await linked(a, c);
    const link = a.links.get(c.id);
    const silentAtMs = performance.now();
    hole.isSilent = true;
    const call = assert.rejects(a.links.call(c.id, 'hang', {}, 60_000), PeerUnreachable);
    await assert.rejects(a.links.call(c.id, 'hang', {}, 50), PeerUnreachable);
    assert.deepEqual([a.links.get(c.id), link?.isDoubted], [link, true], 'long before it is out of rotation');
    await eventually('it is out of rotation', () => a.links.get(c.id) === undefined);
    assert.ok(performance.now() - silentAtMs >= 900, 'not before two pings went unanswered');
    assert.ok(link !== undefined && link.heardAtMs <= silentAtMs, 'silence proves no life');
    assert.equal(link.isDoubted, true);
    await call;
    await eventually('the dial fails', () => a.logged.some((line) => line.includes('no TLS connection within')));
    hole.isSilent = false;
    hole.cut();
    await linked(a, c);
    world.installation.remove(c.id);
    await c.links.drain(0);
  });

  test('survive a process that stood still: queued bytes are read before a peer counts as silent', async () => {
    const link = a.links.get(b.id);
    assert.ok(link);
    const until = performance.now() + 1_800;
    while (performance.now() < until);
    await sleep(300);
    assert.equal(a.links.get(b.id), link);
    assert.deepEqual(await a.links.call(b.id, 'echo', {}), { from: a.id });
  });

  test('do not lead a node to itself', async () => {
    const twin = await world.node();
    world.installation.put(newNodeId(), { peerAddress: `127.0.0.1:${twin.port}` });
    await eventually('the wrong id is refused', () =>
      twin.logged.some((line) => line.includes(`(${twin.id}) answers`)),
    );
    assert.equal(twin.links.get(twin.id), undefined);
    await twin.links.drain(0);
    world.installation.remove(twin.id);
  });

  test('that a node drops end in both directions', async () => {
    const c = await world.node();
    await Promise.all([linked(a, c), linked(c, a)]);
    const downs: string[] = [];
    const offs = [a.links.onDown(() => downs.push('a')), c.links.onDown(() => downs.push('c'))];
    a.links.drop(c.id, 'a test');
    await eventually('both are down', () => downs.includes('a') && downs.includes('c'));
    await Promise.all([linked(a, c), linked(c, a)]);
    for (const off of offs) off();
    await c.links.drain(0);
    world.installation.remove(c.id);
  });
});
