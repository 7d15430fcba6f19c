import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { DEAD_AFTER_MS } from '../../../src/tunnel/protocol/protocol.ts';
import { newHost } from '../../support/edge-world.ts';
import { TunnelWorld } from '../../support/tunnel-world.ts';
import { eventually, hostOf, listed, localHttp, QUICK_TRIES } from '../support/fault-world.ts';
import { FaultyProxy } from '../support/faulty-proxy.ts';

const world = await TunnelWorld.open({ after });
/** Requests per path at the local service. */
const seen = new Map<string, number>();
/** Requests with `held` in their query are answered from then on. */
const released = Promise.withResolvers<void>();
const port = await localHttp({ after }, (request, response) => {
  const path = request.url ?? '';
  seen.set(path, (seen.get(path) ?? 0) + 1);
  request.resume().once('end', () => {
    const query = new URL(path, 'http://x').searchParams;
    if (query.has('held')) void released.promise.then(() => response.end(path));
    else setTimeout(() => response.end(path), Number(query.get('wait') ?? 0));
  });
});
/** Hundreds of requests, on a machine that runs other tests. */
const BUSY_MS = 120_000;
const QUICK_LIVENESS = { checkMs: 50, pingAfterMs: 300, deadAfterMs: 900 };

async function agentBehind(proxy: FaultyProxy, timings = {}, connections = 2) {
  const agent = await world.agent([{ proto: 'https', addr: port }], {
    serverAddr: proxy.addr,
    timings: { ...QUICK_TRIES, ...timings },
    connections,
  });
  await eventually('its connections are there', () => proxy.open.length === connections);
  return { agent, host: hostOf(agent), id: agent.tunnels[0]?.id ?? '' };
}

suite('a wire that fails', { concurrency: 4 }, () => {
  test('the agent detects a black hole and replaces the connections; ids and name stay', async (t) => {
    const proxy = await FaultyProxy.open(t, world.port);
    // With two, the one that is noticed later would keep the session while the other is replaced.
    const { agent, host, id } = await agentBehind(proxy, { liveness: QUICK_LIVENESS }, 1);
    const { publicUrl: url } = agent;
    const lost = once(agent, 'status');
    const began = performance.now();
    for (const connection of proxy.open) connection.drop();
    const [event] = await lost;
    const noticedMs = performance.now() - began;
    assert.deepEqual([event.status, event.reason], ['reconnecting', 'the server no longer responds']);
    await once(agent, 'bound');
    t.diagnostic(`noticed after ${Math.round(noticedMs)} ms, back after ${Math.round(performance.now() - began)} ms`);
    assert.deepEqual([agent.publicUrl, agent.tunnels[0]?.id], [url, id]);
    assert.equal((await world.edge.ask(host, '/after')).text, '/after');
    await agent.close();
  });

  test('the server detects a black hole within the read deadline, and nothing hangs', async (t) => {
    const proxy = await FaultyProxy.open(t, world.port);
    // This agent tolerates silence longer than the server.
    const patient = { checkMs: 1_000, pingAfterMs: 40_000, deadAfterMs: 60_000 };
    const { agent, host, id } = await agentBehind(proxy, { liveness: patient }, 1);
    for (const connection of proxy.open) connection.drop();
    proxy.isDown = true;
    const began = performance.now();
    const [get, post] = await Promise.all([
      world.edge.ask(host, '/hole-get'),
      world.edge.ask(host, '/hole-post', { method: 'POST', body: 'x' }),
    ]);
    const answeredMs = performance.now() - began;
    assert.ok(get.status >= 500 && post.status >= 500, `${get.status} ${post.status}`);
    const goneMs = answeredMs + (await eventually('it is not listed', async () => !(await listed(world)).has(id)));
    t.diagnostic(`requests failed after ${Math.round(answeredMs)} ms, unlisted after ${Math.round(goneMs)} ms`);
    // Checks run every second.
    assert.ok(goneMs >= DEAD_AFTER_MS - 2_000, `${goneMs}`);
    assert.equal(seen.get('/hole-post'), undefined);
    for (const connection of proxy.open) connection.destroy();
    await agent.close();
  });

  test('one of two connections in a black hole: safe requests are repeated on the other, unsafe ones fail once', async (t) => {
    const proxy = await FaultyProxy.open(t, world.port);
    const { agent, host } = await agentBehind(proxy);
    // An open connection has not joined yet. A handshake needs less than this.
    const haveJoined = async (): Promise<boolean> => {
      const send = () => world.edge.ask(host, '/whole', { method: 'POST', body: 'x'.repeat(10_000) });
      await Promise.all([send(), send(), send(), send()]);
      return proxy.open.length === 2 && proxy.open.every(({ carried }) => carried > 30_000);
    };
    await eventually('two connections carry requests', haveJoined, BUSY_MS);
    // The connection with fewer requests gets the next one: so each gets GET and POST in turn.
    const isPost = (at: number): boolean => at % 4 > 1;
    const ask = (at: number): ReturnType<typeof world.edge.ask> =>
      isPost(at)
        ? world.edge.ask(host, `/half-post-${at}?held`, { method: 'POST', body: 'x' })
        : world.edge.ask(host, `/half-get-${at}?held`);
    const asks: ReturnType<typeof ask>[] = [];
    for (let at = 0; at < 8; at += 1) {
      asks.push(ask(at));
      const arrived = (): boolean => seen.has(`/half-${isPost(at) ? 'post' : 'get'}-${at}?held`);
      await eventually('it is in progress', arrived, BUSY_MS);
    }
    proxy.open[0]?.drop();
    for (let at = 8; at < 16; at += 1) asks.push(ask(at));
    released.resolve();
    const answers = await Promise.all(asks);
    const gets = answers.filter((_, at) => !isPost(at)).map(({ status }) => status);
    assert.deepEqual(
      gets,
      gets.map(() => 200),
    );
    const posts = answers.filter((_, at) => isPost(at));
    assert.ok(
      posts.some(({ status }) => status === 200),
      'the other connection carried none',
    );
    assert.ok(
      posts.some(({ status }) => status >= 500),
      'none was in the black hole',
    );
    for (const [path, count] of seen) if (path.startsWith('/half-post')) assert.equal(count, 1, `${path} came twice`);
    assert.equal(agent.status, 'online');
    await eventually('it has two connections again', () => proxy.open.length === 2);
    await agent.close();
  });

  for (const direction of ['up', 'down'] as const) {
    test(`detects bytes lost only ${direction}`, async (t) => {
      const proxy = await FaultyProxy.open(t, world.port);
      const { agent, host } = await agentBehind(proxy, { liveness: QUICK_LIVENESS });
      const accepted = proxy.accepted;
      for (const connection of proxy.open) connection.drop(direction);
      await eventually('it has reconnected', () => proxy.accepted >= accepted + 2);
      await eventually('it is served', async () => (await world.edge.status(host)) === 200);
      await agent.close();
    });
  }

  test('a resume voids a connection that is half open at the server', async (t) => {
    const proxy = await FaultyProxy.open(t, world.port);
    const { agent, host, id } = await agentBehind(proxy);
    const bound = once(agent, 'bound');
    const began = performance.now();
    for (const connection of proxy.open) connection.halfOpen();
    await bound;
    assert.equal((await world.edge.ask(host, '/fenced')).text, '/fenced');
    t.diagnostic(`served again after ${Math.round(performance.now() - began)} ms`);
    assert.equal(agent.tunnels[0]?.id, id);
    await agent.close();
  });

  test('a stall shorter than the deadline costs only time', async (t) => {
    const proxy = await FaultyProxy.open(t, world.port);
    const { agent, host } = await agentBehind(proxy);
    const statuses: string[] = [];
    agent.on('status', ({ status }) => statuses.push(status));
    for (const connection of proxy.open) connection.stall();
    const answer = world.edge.ask(host, '/stalled', { method: 'POST', body: 'x'.repeat(500_000) });
    await sleep(4_000);
    for (const connection of proxy.open) connection.resume();
    assert.equal((await answer).text, '/stalled');
    assert.deepEqual(statuses, []);
    await agent.close();
  });

  test('a line of 150 ms works, and is not considered dead', async (t) => {
    const proxy = await FaultyProxy.open(t, world.port);
    proxy.delayMs = 75;
    const { agent, host } = await agentBehind(proxy, { liveness: QUICK_LIVENESS });
    const answers = await Promise.all(Array.from({ length: 10 }, (_, at) => world.edge.ask(host, `/far-${at}`)));
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
    assert.equal(proxy.accepted, 2);
    await agent.close();
  });

  for (const direction of ['up', 'down'] as const) {
    test(`bytes corrupted on their way ${direction} end the connection, and it is replaced`, async (t) => {
      const proxy = await FaultyProxy.open(t, world.port);
      const { agent, host } = await agentBehind(proxy);
      const [wrong] = proxy.open;
      wrong?.corrupt(direction);
      await eventually('the connection is gone', async () => {
        await world.edge.ask(host, '/corrupt');
        return wrong?.isOpen === false;
      });
      // An open connection has not joined yet.
      await eventually('it answers over two connections again', async () => {
        return proxy.open.length === 2 && (await world.edge.ask(host, '/clean')).text === '/clean';
      });
      await agent.close();
    });
  }

  test('cuts under load: reads succeed, no write is executed twice, and it recovers', async (t) => {
    const proxy = await FaultyProxy.open(t, world.port);
    const { agent, host } = await agentBehind(proxy);
    const counts = { getOk: 0, getFailed: 0, postOk: 0, postFailed: 0 };
    let isStopped = false;
    const ask = async (worker: number): Promise<void> => {
      for (let at = 0; !isStopped; at += 1) {
        const isPost = at % 2 === 1;
        const path = `/load-${isPost ? 'post' : 'get'}-${worker}-${at}?wait=5`;
        const answer = await world.edge.ask(host, path, isPost ? { method: 'POST', body: 'x' } : {});
        const isOk = answer.status === 200 && answer.text === path;
        assert.ok(isOk || answer.status >= 500, `${answer.status}`);
        counts[`${isPost ? 'post' : 'get'}${isOk ? 'Ok' : 'Failed'}`] += 1;
      }
    };
    const workers = Array.from({ length: 6 }, (_, worker) => ask(worker));
    for (let round = 0; round < 5; round += 1) {
      // A handshake needs less: the newest connection has joined, and carries requests.
      const haveJoined = (): boolean => proxy.open.length === 2 && proxy.open.every(({ carried }) => carried > 30_000);
      await eventually('two connections carry requests', haveJoined, BUSY_MS);
      proxy.open[0]?.cut();
    }
    await eventually('it has two connections', () => proxy.open.length === 2);
    isStopped = true;
    await Promise.all(workers);
    t.diagnostic(JSON.stringify(counts));
    assert.equal(counts.getFailed, 0, 'a read failed although a connection was left');
    assert.ok(counts.postOk > 0);
    const twice = [...seen].filter(([path, count]) => path.startsWith('/load-post') && count > 1);
    assert.deepEqual(twice, []);
    await agent.close();
  });

  test('a response cut in the middle is recognizable', async (t) => {
    const half = await localHttp(t, (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' });
      response.write('half');
    });
    const proxy = await FaultyProxy.open(t, world.port);
    const agent = await world.agent([{ proto: 'https', addr: half }], { serverAddr: proxy.addr, timings: QUICK_TRIES });
    const socket = await world.edge.connect(hostOf(agent));
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.write(`GET / HTTP/1.1\r\nhost: ${hostOf(agent)}\r\n\r\n`);
    await eventually('half of it came', () => Buffer.concat(chunks).includes('half'));
    const closed = once(socket, 'close');
    for (const connection of proxy.open) connection.cut();
    await closed;
    assert.ok(!Buffer.concat(chunks).toString().endsWith('0\r\n\r\n'), 'it looks whole');
    await agent.close();
  });

  test('finds a server whose name has moved', async (t) => {
    const old = await FaultyProxy.open(t, world.port);
    const next = await FaultyProxy.open(t, world.port, { host: '127.0.0.2', port: old.port });
    let address = '127.0.0.1';
    const agent = await world.agent([{ proto: 'https', addr: port }], {
      serverAddr: `gateway.example:${old.port}`,
      servername: 'localhost',
      timings: QUICK_TRIES,
      lookup: (name, options, callback) => {
        assert.equal(name, 'gateway.example');
        if (options.all === true) callback(null, [{ address, family: 4 }]);
        else callback(null, address, 4);
      },
    });
    const { publicUrl: url } = agent;
    assert.equal(next.accepted, 0);
    address = '127.0.0.2';
    old.isDown = true;
    for (const connection of old.open) connection.cut();
    await eventually('it is served', async () => (await world.edge.ask(hostOf(agent), '/moved')).text === '/moved');
    assert.ok(next.accepted >= 1);
    assert.equal(agent.publicUrl, url);
    await agent.close();
  });

  test('gives up a server that accepts and sends nothing, reports it, and retries', async (t) => {
    const proxy = await FaultyProxy.open(t, world.port);
    const { agent, host } = await agentBehind(proxy, { connectTimeoutMs: 300 });
    proxy.isSilent = true;
    const reasons: string[] = [];
    agent.on('status', ({ reason }) => reasons.push(reason ?? ''));
    for (const connection of proxy.open) connection.cut();
    await eventually('it says so', () => reasons.some((reason) => /did not respond within 0\.3 s/.test(reason)));
    proxy.isSilent = false;
    await eventually('it is served', async () => (await world.edge.status(host)) === 200);
    await agent.close();
  });

  test('repeats a bind whose response was lost with the connection, and there is one tunnel', async (t) => {
    const proxy = await FaultyProxy.open(t, world.port);
    const domain = newHost();
    const before = (await listed(world)).size;
    for (let round = 0; round < 5; round += 1) {
      proxy.delayMs = 20;
      const starting = world.agent([{ proto: 'https', addr: port, domain: `r${round}-${domain}` }], {
        serverAddr: proxy.addr,
        timings: { ...QUICK_TRIES },
      });
      // In the middle of it: hello and bind take several round trips of 40 ms.
      await eventually('it connects', () => proxy.open.length > 0);
      await sleep(150 + round * 20);
      for (const connection of proxy.open) connection.cut();
      const agent = await starting;
      proxy.delayMs = 0;
      assert.equal(hostOf(agent), `r${round}-${domain}`);
      // The cut may have come just after the response.
      await eventually('it is served', async () => (await world.edge.ask(hostOf(agent), '/one')).text === '/one');
      await agent.close();
    }
    assert.ok((await listed(world)).size <= before);
  });
});
