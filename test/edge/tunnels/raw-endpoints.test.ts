// Process of memory measurements: files of other processes would distort them.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { ServerHttp2Stream } from 'node:http2';
import { type AddressInfo, connect, createServer as createTcp, type Server, type Socket } from 'node:net';
import { after, type TestContext, test } from 'node:test';
import { connect as connectTls, createServer as createTls } from 'node:tls';
import { newHost } from '../../support/edge-world.ts';
import { issue } from '../tls/test-authority.ts';
import { until } from '../tls/tls-world.ts';
import { FakeAgent } from './fake-agent.ts';
import { dial, TunnelWorld } from './tunnel-world.ts';

const world = await TunnelWorld.open({ after });

/** Like an agent: forwards CONNECT streams to a local service, each direction ended separately. */
function forwardTo(agent: FakeAgent, port: number): void {
  agent.handle = (stream, headers) => {
    agent.seen.push({ headers, body: '' });
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    socket.on('error', () => stream.close());
    socket.once('connect', () => {
      stream.respond({ ':status': 200 });
      stream.pipe(socket);
      socket.pipe(stream);
    });
    stream.once('close', () => socket.destroySoon());
  };
}

async function listen(test: TestContext, server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  test.after(() => {
    // A test that fails in the middle of a transfer must not wait for it.
    for (const socket of sockets) socket.destroy();
    return new Promise<void>((resolve) => server.close(() => resolve()));
  });
  return (server.address() as AddressInfo).port;
}

function portOf(published: { ok: boolean; hostport?: string }): number {
  return Number(published.hostport?.split(':').at(-1));
}

async function readAll(socket: NodeJS.ReadableStream): Promise<string> {
  let text = '';
  for await (const chunk of socket) text += chunk.toString('latin1');
  return text;
}

test('tcp: a port of the range, bytes both ways, each direction ended separately', async (context) => {
  const { id, agent } = await world.tunnel(context);
  // Responds only after it has received everything: without half-closing it never would.
  const service = createTcp({ allowHalfOpen: true }, (socket) => {
    let text = '';
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
    });
    socket.on('end', () => socket.end(`heard ${text}`));
  });
  forwardTo(agent, await listen(context, service));
  const published = await world.publish(id, { proto: 'tcp' });
  const port = portOf(published);
  assert.ok(port >= world.tcpPorts.first && port <= world.tcpPorts.last);
  assert.equal(published.ok && published.publicUrl, `tcp://127.0.0.1:${port}`);
  const socket = await dial(context, port, true);
  socket.end('everything');
  assert.equal(await readAll(socket), 'heard everything');
  assert.deepEqual([agent.seen[0]?.headers[':method'], agent.seen[0]?.headers[':authority']], ['CONNECT', id]);
  assert.match(String(agent.seen[0]?.headers['postern-client-address']), /^127\.0\.0\.1:\d+$/);
  await until(() => world.closed.some((facts) => facts.tunnelId === id));
  const facts = world.closed.find(({ tunnelId }) => tunnelId === id);
  assert.deepEqual(
    [facts?.endpointId, facts?.proto, facts?.bytesIn, facts?.bytesOut, facts?.outcome],
    [published.id, 'tcp', 10, 16, 'done'],
  );
  assert.equal(world.tunnels.get(id)?.inFlight, 0);
  world.edge.endpoints.withdraw(published.id);
});

test('tcp: a service that ends first, and one that no longer listens', async (context) => {
  const { id, agent } = await world.tunnel(context);
  const service = createTcp((socket) => {
    socket.on('error', () => {});
    socket.end('greeting and goodbye');
  });
  forwardTo(agent, await listen(context, service));
  const published = await world.publish(id, { proto: 'tcp' });
  const socket = await dial(context, portOf(published));
  assert.equal(await readAll(socket), 'greeting and goodbye');
  await until(() => agent.active === 0);
  world.edge.endpoints.withdraw(published.id);
});

test('tcp: much data both ways, complete, in constant memory, with back-pressure', async (context) => {
  const { id, agent } = await world.tunnel(context);
  const service = createTcp((socket) => {
    socket.on('error', () => {});
    socket.pipe(socket);
  });
  forwardTo(agent, await listen(context, service));
  const published = await world.publish(id, { proto: 'tcp' });
  const socket = await dial(context, portOf(published), true);
  const chunk = randomBytes(65_536);
  // More than the system's buffers on the way can hold: seen were 20 and over 32 MB.
  const many = 4096;
  let chunks = many;
  // Nobody reads yet: only what fits into windows and buffers on the way may be accepted.
  let sent = 0;
  const sender = (async () => {
    for (; sent < chunks; sent += 1) if (!socket.write(chunk)) await once(socket, 'drain');
    socket.end();
  })();
  let stalledAt = -1;
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 200));
    if (sent === stalledAt) break;
    stalledAt = sent;
  }
  assert.ok(stalledAt < many, `all ${many} chunks were taken although nobody read`);
  chunks = Math.max(1024, stalledAt + 2);
  const before = process.memoryUsage().rss;
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const part of socket) {
    bytes += (part as Buffer).length;
    hash.update(part as Buffer);
  }
  await sender;
  const wanted = createHash('sha256');
  for (let at = 0; at < chunks; at += 1) wanted.update(chunk);
  assert.equal(bytes, chunks * chunk.length);
  assert.equal(hash.digest('hex'), wanted.digest('hex'));
  const grown = process.memoryUsage().rss - before;
  assert.ok(grown < 96 * 1024 * 1024, `grew by ${Math.round(grown / 1_048_576)} MB for ${chunks / 16} MB both ways`);
  await until(() => world.closed.some((facts) => facts.tunnelId === id && facts.outcome === 'done'));
  world.edge.endpoints.withdraw(published.id);
});

test('tcp: a requested port, one in use, one outside the range, and none left', async (context) => {
  const { id } = await world.tunnel(context);
  const { first, last } = world.tcpPorts;
  const wanted = await world.publish(id, { proto: 'tcp', port: first + 1 });
  assert.equal(portOf(wanted), first + 1);
  const taken = await world.publish(id, { proto: 'tcp', port: first + 1 });
  assert.deepEqual([!taken.ok && taken.code, !taken.ok && taken.retry], ['ERR_POSTERN_TUNNEL_PORT', true]);
  const foreign = await world.publish(id, { proto: 'tcp', port: 22 });
  assert.match(foreign.ok ? '' : foreign.message, new RegExp(`${first} to ${last} .*22 is not one of them`));
  const others = [await world.publish(id, { proto: 'tcp' }), await world.publish(id, { proto: 'tcp' })];
  assert.deepEqual(
    others.map(portOf).toSorted((a, b) => a - b),
    [first, last],
  );
  const none = await world.publish(id, { proto: 'tcp' });
  assert.match(none.ok ? '' : none.message, /all ports for tcp tunnels on this server/);
  for (const published of [wanted, ...others]) world.edge.endpoints.withdraw(published.id);
  const again = await world.publish(id, { proto: 'tcp', port: first + 1 });
  assert.equal(again.ok, true);
  world.edge.endpoints.withdraw(again.id);
});

test('tcp: a withdrawal cuts connections and frees the port', async (context) => {
  const { id, agent } = await world.tunnel(context);
  const { promise, resolve } = Promise.withResolvers<ServerHttp2Stream>();
  agent.handle = (stream) => {
    stream.respond({ ':status': 200 });
    stream.write('hello');
    resolve(stream.resume());
  };
  const published = await world.publish(id, { proto: 'tcp' });
  const port = portOf(published);
  const socket = await dial(context, port);
  await once(socket, 'data');
  const stream = await promise;
  const gone = new Promise((done) => socket.once('close', done));
  const ended = new Promise((done) => stream.once('close', done));
  world.edge.endpoints.withdraw(published.id);
  await Promise.all([gone, ended]);
  await assert.rejects(dial(context, port), /ECONNREFUSED/);
  const server = createTcp();
  await once(server.listen(port, '127.0.0.1'), 'listening');
  await new Promise((done) => server.close(done));
  assert.equal(world.closed.at(-1)?.outcome, 'withdrawn');
});

test('tcp: an offline agent, a stopped service, a forbidden address, a lost agent', async (context) => {
  const { id, agent } = await world.tunnel(context);
  const outcome = async (port: number): Promise<string> => {
    const count = world.closed.length;
    // A reset may arrive before the connection is seen as open.
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    socket.on('end', () => assert.fail('a connection that broke must not look whole'));
    socket.resume();
    await new Promise((resolve) => socket.once('close', resolve));
    await until(() => world.closed.length > count);
    return world.closed.at(-1)?.outcome ?? '';
  };
  const published = await world.publish(id, { proto: 'tcp' });
  const port = portOf(published);
  agent.failWith('refused');
  assert.equal(await outcome(port), 'refused');
  agent.failWith('made up by the agent');
  assert.equal(await outcome(port), 'failed');
  agent.handle = (stream) => {
    stream.respond({ ':status': 200 });
    setImmediate(() => stream.session?.destroy());
  };
  assert.equal(await outcome(port), 'agent_gone');
  world.tunnels.remove(id);
  assert.equal(await outcome(port), 'no_tunnel');
  world.edge.endpoints.withdraw(published.id);
  const modules = { ip_restriction: { allow: ['192.0.2.0/24'], deny: [] } };
  const closed = await world.publish(id, { proto: 'tcp', modules });
  assert.equal(await outcome(portOf(closed)), 'address');
  world.edge.endpoints.withdraw(closed.id);
  const refused = await world.publish(id, { proto: 'tcp', modules: { compression: {} } });
  assert.match(refused.ok ? '' : refused.message, /does not inspect/);
});

test('tls: the handshake is the service’s own, the server only forwards it', async (context) => {
  const { id, agent } = await world.tunnel(context);
  const { host, ...published } = await world.publish(id, { proto: 'tls' });
  assert.equal(published.ok && published.publicUrl, `tls://${host}:${world.clients.port}`);
  const own = await issue({ commonName: host, dnsNames: [host], usages: ['server'] });
  const service = createTls({ cert: own.certificatePem, key: own.keyPem }, (socket) => {
    socket.on('error', () => {});
    socket.pipe(socket);
  });
  forwardTo(agent, await listen(context, service));
  const socket = connectTls({ ...world.clients.tlsOptions(host), ca: [own.certificatePem] });
  context.after(() => socket.destroy());
  socket.on('error', () => {});
  await once(socket, 'secureConnect');
  assert.equal(socket.getPeerCertificate().subject.CN, host);
  const sent = randomBytes(1_000_000);
  const back = (async () => {
    const parts: Buffer[] = [];
    let length = 0;
    for await (const part of socket) {
      parts.push(part as Buffer);
      length += (part as Buffer).length;
      if (length === sent.length) break;
    }
    return Buffer.concat(parts);
  })();
  socket.write(sent);
  assert.ok((await back).equals(sent));
  socket.destroy();
  await until(() => world.closed.some((facts) => facts.tunnelId === id && facts.proto === 'tls'));
  await until(() => agent.active === 0);
  world.edge.endpoints.withdraw(published.id);
  await assert.rejects(world.clients.connect(host));
});

test("tls: prefers an edge's name over an agent, and an agent over a wildcard", async (context) => {
  const { id, agent } = await world.tunnel(context);
  const zone = newHost();
  await world.clients.site(await world.clients.httpResponse('wildcard'), `*.${zone}`);
  const host = `a.${zone}`;
  const published = await world.publish(id, { proto: 'tls', host });
  assert.equal(published.ok, true);
  agent.failWith('refused');
  await assert.rejects(world.clients.ask(host));
  assert.equal(agent.seen.length, 1);
  assert.equal((await world.clients.ask(`b.${zone}`)).text, 'wildcard');
  const other = await world.publish(id, { proto: 'https', host });
  assert.equal(!other.ok && other.code, 'ERR_POSTERN_TUNNEL_NAME_TAKEN');
  await world.clients.site(await world.clients.httpResponse('exact'), host);
  assert.equal((await world.clients.ask(host)).text, 'exact');
});

test('tcp: limits connections per address over all ports', async (context) => {
  const limited = await TunnelWorld.open(context, {}, { maxConnectionsPerAddress: 1 });
  const agent = await FakeAgent.open(context);
  limited.tunnels.add('tn_limited', agent);
  agent.handle = (stream) => {
    stream.respond({ ':status': 200 });
    stream.pipe(stream);
  };
  const ports = [
    await limited.publish('tn_limited', { proto: 'tcp' }),
    await limited.publish('tn_limited', { proto: 'tcp' }),
  ];
  const [first, second] = ports.map(portOf) as [number, number];
  const held = await dial(context, first);
  held.write('x');
  await once(held, 'data');
  const refused = await dial(context, second);
  await new Promise((resolve) => refused.resume().once('close', resolve));
  const released = new Promise((resolve) => held.once('close', resolve));
  held.destroy();
  await released;
  await until(() => limited.closed.length === 1);
  const next = await dial(context, second);
  next.write('y');
  await once(next, 'data');
});

test('a drain accepts no more connections, lets existing ones end, and cuts the rest at its deadline', async (context) => {
  const draining = await TunnelWorld.open(context);
  const agent = await FakeAgent.open(context);
  draining.tunnels.add('tn_drain', agent);
  const service = createTcp((socket) => {
    socket.on('error', () => {});
    socket.pipe(socket);
  });
  forwardTo(agent, await listen(context, service));
  const published = await draining.publish('tn_drain', { proto: 'tcp' });
  const port = portOf(published);
  const [ending, staying] = [await dial(context, port), await dial(context, port)];
  for (const socket of [ending, staying]) {
    socket.write('x');
    await once(socket, 'data');
  }
  const drained = draining.edge.drain(1000);
  await assert.rejects(dial(context, port), /ECONNREFUSED/);
  ending.write('y');
  const [chunk] = await once(ending, 'data');
  assert.equal(String(chunk), 'y');
  ending.end();
  const cut = new Promise((resolve) => staying.resume().once('close', resolve));
  await drained;
  await cut;
  await until(() => draining.closed.length === 2);
  assert.deepEqual(
    draining.closed.map(({ outcome }) => outcome),
    ['done', 'draining'],
  );
});

test('connections are counted, and none is left', async () => {
  const text = await world.registry.metrics();
  assert.match(text, /postern_edge_tunnel_connections\{proto="tcp"\} 0/);
  assert.match(text, /postern_edge_tunnel_connections\{proto="tls"\} 0/);
  assert.match(text, /postern_edge_tunnel_connections_total\{proto="tcp",outcome="done"\} [2-9]/);
  assert.match(text, /postern_edge_tunnel_bytes_total\{proto="tcp",direction="in"\} 671\d{5}/);
});
