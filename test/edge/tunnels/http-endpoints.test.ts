import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import { type ClientRequest, request } from 'node:http';
import { after, type TestContext, test } from 'node:test';
import { newHost } from '../../support/edge-world.ts';
import { until } from '../tls/tls-world.ts';
import { openWebSocket, WebSocketEnd } from '../traffic/web-socket.ts';
import { dial, TunnelWorld } from './tunnel-world.ts';

const world = await TunnelWorld.open({ after });

async function ask(host: string, options: { path?: string; method?: string; body?: string } = {}) {
  const { path = '/', method = 'GET', body } = options;
  const sent: ClientRequest = request({
    host: '127.0.0.1',
    port: world.httpPort,
    path,
    method,
    headers: { host },
    agent: false,
  });
  sent.end(body);
  const [response] = await once(sent, 'response');
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) text += chunk;
  return { status: response.statusCode as number, headers: response.headers as IncomingHttpHeaders, text };
}

/** Sends raw bytes and reads until the peer closes. */
async function send(test: TestContext, text: string): Promise<string> {
  const socket = await dial(test, world.httpPort);
  socket.setEncoding('latin1').write(text, 'latin1');
  let answer = '';
  for await (const chunk of socket) answer += chunk;
  return answer;
}

test('serves a host of an http tunnel over plain HTTP only', async (context) => {
  const { id } = await world.tunnel(context);
  const { host, id: endpointId, ...published } = await world.publish(id, { proto: 'http' });
  assert.deepEqual(published, {
    ok: true,
    publicUrl: `http://${host}:${world.httpPort}`,
    hostport: `${host}:${world.httpPort}`,
  });
  const answer = await ask(host, { path: '/p?q', method: 'POST', body: 'text' });
  assert.equal(answer.status, 200);
  const { headers, body } = JSON.parse(answer.text);
  assert.deepEqual(
    [headers['x-forwarded-proto'], headers['x-forwarded-for'], headers['x-forwarded-host'], headers[':path'], body],
    ['http', '127.0.0.1', host, '/p?q', 'text'],
  );
  await assert.rejects(world.clients.ask(host));
  world.edge.endpoints.withdraw(endpointId);
  assert.equal((await ask(host)).status, 404);
});

test("still redirects edges, and prefers an edge's name over an agent, and an agent over a wildcard", async (context) => {
  const { id } = await world.tunnel(context);
  const zone = newHost();
  await world.clients.site(await world.clients.httpResponse('wildcard'), `*.${zone}`);
  const name = `a.${zone}`;
  assert.equal((await ask(name)).headers.location, `https://${name}:${world.clients.port}/`);
  assert.equal((await world.publish(id, { proto: 'http', host: name })).ok, true);
  assert.equal((await ask(name)).headers['x-agent'], id);
  // Over HTTPS it still belongs to the wildcard.
  assert.equal((await world.clients.ask(name)).text, 'wildcard');
  await world.clients.site(await world.clients.httpResponse('exact'), name);
  assert.equal((await ask(name)).status, 308);
  assert.equal((await ask('nobody.localhost')).status, 404);
});

test('one connection serves requests for several hosts in turn, and is kept', async (context) => {
  const [one, two] = [await world.tunnel(context), await world.tunnel(context)];
  const hosts = [await world.publish(one.id, { proto: 'http' }), await world.publish(two.id, { proto: 'http' })];
  const text = hosts.map(({ host }) => `GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`).join('');
  const answer = await send(context, `${text}GET / HTTP/1.1\r\nHost: ${hosts[0]?.host}\r\nConnection: close\r\n\r\n`);
  assert.deepEqual(
    Array.from(answer.matchAll(/x-agent: (\w+)/g), ([, name]) => name),
    [one.id, two.id, one.id],
  );
});

test('a WebSocket without TLS', async (context) => {
  const { id, agent } = await world.tunnel(context);
  const { host } = await world.publish(id, { proto: 'http' });
  agent.handle = (stream) => {
    stream.respond({ ':status': 200 });
    const end = new WebSocketEnd(stream, false);
    end.onMessage = (text) => end.send(`echo ${text}`);
  };
  const socket = await dial(context, world.httpPort);
  const end = await openWebSocket(socket as never, host);
  assert.ok(await end.echoes('hello'));
  end.stream.destroy();
  await until(() => agent.active === 0);
});

test('a withdrawal cuts running requests', async (context) => {
  const { id, agent } = await world.tunnel(context);
  const { host, id: endpointId } = await world.publish(id, { proto: 'http' });
  agent.handle = (stream) => {
    stream.respond({ ':status': 200 });
    stream.write('first');
  };
  const socket = await dial(context, world.httpPort);
  socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  await once(socket, 'data');
  socket.resume();
  world.edge.endpoints.withdraw(endpointId);
  await once(socket, 'close');
  await until(() => agent.active === 0);
});

test('rejects ambiguous requests here too', async (context) => {
  const { id, agent } = await world.tunnel(context);
  const { host } = await world.publish(id, { proto: 'http' });
  for (const [head, status] of [
    [`GET /a/../b HTTP/1.1\r\nHost: ${host}`, 400],
    [`GET / HTTP/1.1\r\nHost: ${host}\r\nHost: ${host}`, 400],
    [`POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 1\r\nTransfer-Encoding: chunked`, 400],
    [`POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Length: +1`, 400],
    [`CONNECT ${host}:443 HTTP/1.1\r\nHost: ${host}`, 405],
    [`TRACE / HTTP/1.1\r\nHost: ${host}`, 405],
  ] as const) {
    assert.match(await send(context, `${head}\r\n\r\n`), new RegExp(`^HTTP/1\\.1 ${status} `), head);
  }
  assert.equal(agent.seen.length, 0);
  const absolute = await send(context, `GET http://${host}/x HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  assert.match(absolute, /^HTTP\/1\.1 200 /);
});

test('rejects modules that need TLS with a message, and others work', async (context) => {
  const { id } = await world.tunnel(context);
  for (const modules of [{ oidc: {} }, { mutual_tls: { ca_pems: ['x'] } }]) {
    const refused = await world.publish(id, { proto: 'http', modules });
    assert.match(refused.ok ? '' : refused.message, /cannot be applied to a tunnel of the protocol http: .*use https/);
  }
  const modules = { ip_restriction: { allow: ['192.0.2.0/24'], deny: [] } };
  const { host } = await world.publish(id, { proto: 'http', modules });
  assert.equal((await ask(host)).status, 403);
});
