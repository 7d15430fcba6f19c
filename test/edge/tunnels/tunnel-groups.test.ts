import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerHttp2Stream } from 'node:http2';
import { after, test } from 'node:test';
import { until } from '../tls/tls-world.ts';
import { openWebSocket, openWebSocketOverHttp2, WebSocketEnd } from '../traffic/web-socket.ts';
import { FakeAgent } from './fake-agent.ts';
import { TunnelWorld } from './tunnel-world.ts';

const world = await TunnelWorld.open({ after });

let labelCount = 0;
/** Labels that no other test uses. */
function newLabels(): Record<string, string> {
  labelCount += 1;
  return { app: `app-${labelCount}` };
}

test('none online: 503 with the reason, and its response as soon as one is', async (context) => {
  const labels = newLabels();
  const { host } = await world.group(labels);
  const refused = await world.clients.ask(host);
  assert.equal(refused.status, 503);
  assert.equal(refused.headers['postern-error-code'], 'ERR_POSTERN_NO_TUNNEL');
  const agent = await FakeAgent.open(context);
  world.tunnels.add('tn_1', agent, { ...labels, more: 'yes' });
  const answer = await world.clients.ask(host, '/path?query=1', { method: 'POST', body: 'hello' });
  assert.equal(answer.status, 200);
  const { headers, body } = JSON.parse(answer.text);
  assert.equal(body, 'hello');
  assert.equal(headers['postern-tunnel'], 'tn_1');
  assert.equal(headers[':path'], '/path?query=1');
  assert.equal(headers[':authority'], host);
  assert.equal(headers['x-forwarded-proto'], 'https');
  world.tunnels.remove('tn_1');
  assert.equal(await world.clients.status(host), 503);
});

test('over HTTP/2, with trailers both ways', async (context) => {
  const labels = newLabels();
  const { host } = await world.group(labels);
  const agent = await FakeAgent.open(context);
  const tunnel = world.tunnels.add('tn_h2', agent, labels);
  agent.handle = (stream) => {
    let trailer = '';
    stream.on('trailers', (trailers) => {
      trailer = String(trailers['x-sum']);
    });
    stream.resume().on('end', () => {
      stream.respond({ ':status': 200 }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'x-back': trailer }));
      stream.end('body');
    });
  };
  const session = await world.clients.http2(host);
  const stream = session.request(
    { ':path': '/', ':authority': host, ':method': 'POST' },
    { endStream: false, waitForTrailers: true },
  );
  stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': '42' }));
  stream.end('question');
  const trailers = once(stream, 'trailers');
  let body = '';
  stream.setEncoding('utf8').on('data', (text: string) => {
    body += text;
  });
  await once(stream, 'end');
  assert.equal(body, 'body');
  assert.equal((await trailers)[0]['x-back'], '42');
  await until(() => tunnel.inFlight === 0 && agent.active === 0);
});

test('forwards data immediately, and notices a client that disconnects', async (context) => {
  const labels = newLabels();
  const { host } = await world.group(labels);
  const agent = await FakeAgent.open(context);
  const tunnel = world.tunnels.add('tn_sse', agent, labels);
  const { promise, resolve } = Promise.withResolvers<ServerHttp2Stream>();
  agent.handle = (stream) => {
    stream.respond({ ':status': 200, 'content-type': 'text/event-stream' });
    stream.write('data: 1\n\n');
    resolve(stream);
  };
  const session = await world.clients.http2(host);
  const stream = session.request({ ':path': '/', ':authority': host }).setEncoding('utf8');
  assert.equal((await once(stream, 'data'))[0], 'data: 1\n\n');
  const service = await promise;
  service.write('data: 2\n\n');
  assert.equal((await once(stream, 'data'))[0], 'data: 2\n\n');
  assert.equal(tunnel.inFlight, 1);
  const closed = once(service, 'close');
  stream.close();
  await closed;
  await until(() => tunnel.inFlight === 0);
});

for (const version of ['HTTP/1.1', 'HTTP/2'] as const) {
  test(`a WebSocket over ${version}`, async (context) => {
    const labels = newLabels();
    const { host } = await world.group(labels);
    const agent = await FakeAgent.open(context);
    const tunnel = world.tunnels.add('tn_ws', agent, labels);
    let protocol: unknown;
    agent.handle = (stream, headers) => {
      protocol = [headers[':method'], headers[':protocol'], headers[':path'], headers['postern-tunnel']];
      stream.respond({ ':status': 200 });
      const end = new WebSocketEnd(stream, false);
      end.onMessage = (text) => end.send(`echo ${text}`);
    };
    const socket =
      version === 'HTTP/1.1'
        ? await openWebSocket(await world.clients.connect(host), host, '/chat')
        : await openWebSocketOverHttp2(await world.clients.http2(host), host, '/chat');
    assert.ok(await socket.echoes('hello'));
    assert.ok(await socket.echoes('x'.repeat(60_000)));
    assert.deepEqual(protocol, ['CONNECT', 'websocket', '/chat', 'tn_ws']);
    assert.equal(tunnel.inFlight, 1);
    socket.stream.destroy();
    await until(() => tunnel.inFlight === 0 && agent.active === 0);
  });
}

test('forwards the response of a service that declines a WebSocket', async (context) => {
  const labels = newLabels();
  const { host } = await world.group(labels);
  const agent = await FakeAgent.open(context);
  const tunnel = world.tunnels.add('tn_no_ws', agent, labels);
  agent.handle = (stream) => {
    stream.respond({ ':status': 403, 'content-type': 'text/plain' });
    stream.end('not here');
  };
  await assert.rejects(openWebSocket(await world.clients.connect(host), host), /HTTP\/1\.1 403 /);
  await until(() => tunnel.inFlight === 0 && agent.active === 0);
});

for (const [reason, status, code, words] of [
  [
    'refused',
    502,
    'ERR_POSTERN_UPSTREAM_UNREACHABLE',
    /The agent could not reach localhost:3000: the connection was refused/,
  ],
  ['dns', 502, 'ERR_POSTERN_UPSTREAM_UNREACHABLE', /its name does not resolve/],
  ['closed', 502, 'ERR_POSTERN_UPSTREAM_BROKEN', /localhost:3000: the connection was closed/],
  ['made up', 502, 'ERR_POSTERN_UPSTREAM_BROKEN', /localhost:3000: it failed/],
] as const) {
  test(`an agent that reports "${reason}" becomes a page that names its address`, async (context) => {
    const labels = newLabels();
    const { host } = await world.group(labels);
    const agent = await FakeAgent.open(context);
    world.tunnels.add('tn_error', agent, labels);
    agent.failWith(reason);
    const answer = await world.clients.ask(host);
    assert.equal(answer.status, status);
    assert.equal(answer.headers['postern-error-code'], code);
    assert.match(answer.text, words);
    assert.equal(answer.headers['postern-tunnel-error'], undefined);
    assert.doesNotMatch(answer.text, /the agent says so/);
  });
}

test('shows an address with markup as text', async (context) => {
  const labels = newLabels();
  const { host } = await world.group(labels);
  const agent = await FakeAgent.open(context);
  world.tunnels.add('tn_markup', agent, labels);
  agent.failWith('refused', '<script>alert(1)</script>');
  const { text } = await world.clients.ask(host, '/', { headers: { accept: 'text/html' } });
  assert.match(text, /&lt;script&gt;/);
  assert.doesNotMatch(text, /<script>/);
});

test('least busy first, ties at random, and members are not searched for each request', async (context) => {
  const labels = newLabels();
  const { host } = await world.group(labels);
  const agents = await Promise.all(['a', 'b', 'c'].map((name) => FakeAgent.open(context, name)));
  const tunnels = agents.map((agent) => world.tunnels.add(`tn_${agent.name}`, agent, labels));
  const held: ServerHttp2Stream[] = [];
  for (const agent of agents) {
    agent.handle = (stream, headers) => {
      agent.seen.push({ headers, body: '' });
      held.push(stream);
    };
  }
  const session = await world.clients.http2(host);
  const streams = Array.from({ length: 30 }, () => session.request({ ':path': '/', ':authority': host }));
  await until(() => held.length === 30);
  assert.deepEqual(
    tunnels.map(({ inFlight }) => inFlight),
    [10, 10, 10],
  );
  const { searches } = world.tunnels;
  // One after the other all are equal: chance must reach each of them.
  for (const stream of held.splice(0)) stream.respond({ ':status': 204 }, { endStream: true });
  await Promise.all(streams.map((stream) => once(stream.resume(), 'close')));
  for (const agent of agents) {
    agent.seen.length = 0;
    agent.handle = (stream, headers) => agent.answer(stream, headers);
  }
  const agentOf = world.clients.agent();
  context.after(() => agentOf.destroy());
  for (let at = 0; at < 60; at += 1) assert.equal(await world.clients.status(host, '/', { agent: agentOf }), 200);
  for (const agent of agents) assert.ok(agent.seen.length >= 5, `${agent.name} got ${agent.seen.length} of 60`);
  assert.equal(world.tunnels.searches, searches);
});

test('skips a member whose service is down, and does not repeat a request that it may have received', async (context) => {
  const labels = newLabels();
  const { host } = await world.group(labels);
  const [down, up] = [await FakeAgent.open(context, 'down'), await FakeAgent.open(context, 'up')];
  world.tunnels.add('tn_down', down, labels);
  // Always the second choice.
  world.tunnels.add('tn_up', up, labels).inFlight = 1;
  down.failWith('refused');
  for (const method of ['GET', 'POST', 'PATCH']) {
    // Added again, so that it is not known to be down.
    world.tunnels.add('tn_down', down, labels);
    const answer = await world.clients.ask(host, '/', { method });
    assert.deepEqual([answer.status, answer.headers['x-agent']], [200, 'up'], method);
  }
  assert.equal(down.seen.length, 3);
  assert.equal((await world.clients.ask(host)).headers['x-agent'], 'up', 'it is left alone for a while');
  assert.equal(down.seen.length, 3);
  down.failWith('closed');
  world.tunnels.add('tn_down', down, labels);
  up.seen.length = 0;
  assert.equal(await world.clients.status(host, '/', { method: 'POST' }), 502);
  assert.equal(up.seen.length, 0);
});

test('an agent whose connection breaks: safe requests go elsewhere, others do not', async (context) => {
  const labels = newLabels();
  const { host } = await world.group(labels);
  const [breaking, other] = [await FakeAgent.open(context, 'breaking', 8), await FakeAgent.open(context, 'other')];
  world.tunnels.add('tn_breaking', breaking, labels);
  world.tunnels.add('tn_other', other, labels).inFlight = 1;
  breaking.handle = (stream, headers) => {
    breaking.seen.push({ headers, body: '' });
    stream.session?.destroy();
  };
  const answer = await world.clients.ask(host);
  assert.deepEqual([answer.status, answer.headers['x-agent']], [200, 'other']);
  // On another connection of the same agent first.
  assert.equal(breaking.seen.length, 2);
  const refused = await world.clients.ask(host, '/', { method: 'POST', body: 'pay' });
  assert.equal(refused.status, 502);
  assert.equal(breaking.seen.length, 3);
  assert.equal(await world.clients.status(host, '/', { method: 'DELETE' }), 502);
  assert.equal(breaking.seen.length, 4);
  assert.equal(other.seen.length, 1);
});

test('an agent with a second connection responds although the first broke', async (context) => {
  const labels = newLabels();
  const { host } = await world.group(labels);
  const agent = await FakeAgent.open(context, 'two', 2);
  const tunnel = world.tunnels.add('tn_two', agent, labels);
  let broken = 0;
  agent.handle = (stream, headers) => {
    if (broken > 0) agent.answer(stream, headers);
    else {
      broken += 1;
      stream.session?.destroy();
    }
  };
  assert.equal(await world.clients.status(host), 200);
  assert.equal(broken, 1);
  assert.equal(tunnel.inFlight, 0);
});

test('skips an agent without a connection, which alone is 503', async (context) => {
  const labels = newLabels();
  const { host } = await world.group(labels);
  const agent = await FakeAgent.open(context, 'gone');
  world.tunnels.add('tn_gone', agent, labels);
  agent.disconnect();
  const refused = await world.clients.ask(host, '/', { method: 'POST', body: 'x' });
  assert.deepEqual([refused.status, refused.headers['postern-error-code']], [503, 'ERR_POSTERN_NO_TUNNEL']);
  const other = await FakeAgent.open(context, 'there');
  world.tunnels.add('tn_there', other, labels).inFlight = 1;
  const answer = await world.clients.ask(host, '/', { method: 'POST', body: 'x' });
  assert.deepEqual([answer.status, JSON.parse(answer.text).body], [200, 'x']);
});

test('a service that never responds: 504 in time', async (context) => {
  const slow = await TunnelWorld.open(context, { responseTimeoutMs: 300 });
  const labels = newLabels();
  const { host } = await slow.group(labels);
  const agent = await FakeAgent.open(context);
  const tunnel = slow.tunnels.add('tn_slow', agent, labels);
  agent.handle = () => {};
  assert.equal(await slow.clients.status(host), 504);
  await until(() => tunnel.inFlight === 0 && agent.active === 0);
});

test('a service that requires NTLM does not cost its agent the connection', async (context) => {
  const labels = newLabels();
  const { host } = await world.group(labels);
  const agent = await FakeAgent.open(context);
  world.tunnels.add('tn_ntlm', agent, labels);
  agent.handle = (stream) => stream.respond({ ':status': 401, 'www-authenticate': 'NTLM' }, { endStream: true });
  assert.equal(await world.clients.status(host), 401);
  assert.equal(agent.links[0]?.isRetired, false);
});

test('a client cannot name a tunnel, and a service cannot impersonate its agent', async (context) => {
  const labels = newLabels();
  const { host } = await world.group(labels);
  const agent = await FakeAgent.open(context);
  world.tunnels.add('tn_named', agent, labels);
  const answer = await world.clients.ask(host, '/', { headers: { 'postern-tunnel': 'tn_other' } });
  assert.equal(JSON.parse(answer.text).headers['postern-tunnel'], 'tn_named');
});
