import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { TunnelWorld } from '../../support/tunnel-world.ts';

/** Runs in a copy of the project that has the hooked module: see `throwaway-module.test.ts`. */
test('a module with every hook is served by settings, API, edge and tunnels', { timeout: 100_000 }, async () => {
  const seen: IncomingMessage['headers'][] = [];
  const upstream = createServer((request, response) => {
    seen.push(request.headers);
    response.setHeader('set-cookie', ['hooked=1', 'hooked-too=1', 'kept=1']);
    response.write('body');
    response.addTrailers({ 'x-sum': '1' });
    response.end();
  }).listen(0, '127.0.0.1');
  upstream.on('connection', (socket: Socket) => socket.unref());
  await once(upstream, 'listening');
  upstream.unref();
  const address = `127.0.0.1:${(upstream.address() as AddressInfo).port}`;
  const world = await TunnelWorld.open({ after }, { POSTERN_HOOKED_BYTES: '5' });
  const { edge } = world;
  const { host, routePath } = await edge.site(await edge.staticBackend(address));

  assert.equal((await edge.world.api('PUT', `${routePath}/hooked`, { mark: 'nothing' })).status, 400);
  assert.equal((await edge.world.api('PUT', `${routePath}/hooked`, { mark: '' })).status, 200);
  assert.equal((await edge.ask(host)).status, 503, 'a module that cannot be prepared refuses');
  await edge.api('PUT', `${routePath}/hooked`, { mark: '!' });
  assert.equal((await edge.api('GET', `${routePath}/hooked`)).mark, '!');

  // Headers, a bounded body, the response's head, body and trailers.
  const headers = { host, 'x-unwanted': '1', 'x-hooked-body': 'forged', 'content-length': '5' };
  const sent = requestHttps({ agent: false, ...edge.tlsOptions(host), method: 'POST', headers } as object);
  sent.end('hello');
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  let body = '';
  for await (const chunk of answer) body += String(chunk);
  assert.equal(body, 'body!');
  assert.equal(answer.headers['x-marked'], '!');
  assert.equal(answer.trailers['x-mark'], '!');
  assert.deepEqual(answer.headers['set-cookie'], ['kept=1']);
  const [got = {}] = seen;
  assert.equal(got['x-unwanted'], undefined);
  assert.equal(got['x-hooked-body'], 'hello');
  assert.equal(got['x-hooked-standing'], '1');
  assert.match(String(got['x-count']), /^\d+$/);

  // Refusals: of a path, with the module's own error, and of a body beyond the setting.
  const refused = await edge.ask(host, '/refused');
  assert.equal(refused.status, 402);
  assert.equal(refused.headers['postern-error-code'], 'ERR_POSTERN_HOOKED');
  assert.equal(
    await edge.status(host, '/', { method: 'POST', body: 'longer', headers: { 'content-length': '6' } }),
    413,
  );

  // Every port.
  await sleep(20);
  const own = await edge.ask(host, '/.postern/hooked', {
    method: 'POST',
    body: 'x',
    headers: { 'content-length': '1' },
  });
  assert.deepEqual(JSON.parse(own.text), {
    bytes: 5,
    now: true,
    id: true,
    random: 43,
    opened: 'text',
    mac: 64,
    configs: 0,
    'may reach metadata': false,
    records: [{ id: 'note', doc: { text: 'a note' }, secret: { field: 'key', text: 'a secret' } }],
    'records left': 0,
    'foreign records': 'refused',
    fetched: 'refused',
    ticked: true,
    'edge changed': true,
    sent: 'x',
  });
  assert.match(await edge.metrics(), /^hooked_events_total\{event="request"\} [1-9]/m);
  assert.ok(edge.world.logLines.some((line) => line.includes('the hooked module is open')));

  // Asked for by an agent.
  const agent = await world.agent([{ proto: 'https', addr: address, modules: { hooked: { mark: '?' } } }]);
  const tunnelled = await edge.ask(new URL(agent.publicUrl ?? '').hostname);
  assert.equal(tunnelled.text, 'body?');
});
