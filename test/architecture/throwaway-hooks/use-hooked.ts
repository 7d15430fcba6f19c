import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { TunnelWorld } from '../../support/tunnel-world.ts';

// The tests run in a copy of the project that has the hooked modules: see `throwaway-module.test.ts`.
const seen: IncomingMessage['headers'][] = [];
let seenUrl = '';
const upstream = createServer((request, response) => {
  seen.push(request.headers);
  seenUrl = request.url ?? '';
  response.setHeader('set-cookie', ['hooked=1', 'hooked-too=1', 'hooked-notes=1', 'kept=1']);
  response.write('body');
  response.addTrailers({ 'x-sum': '1' });
  response.end();
}).listen(0, '127.0.0.1');
upstream.on('connection', (socket: Socket) => socket.unref());
await once(upstream, 'listening');
upstream.unref();
const address = `127.0.0.1:${(upstream.address() as AddressInfo).port}`;
const world = await TunnelWorld.open(
  { after },
  { POSTERN_HOOKED_BYTES: '5', POSTERN_HOOKED_ALERT: '1', POSTERN_HOOKED_NOTES: '4' },
);
const { edge } = world;

test('a module with every hook is served by settings, API, edge and tunnels', { timeout: 100_000 }, async () => {
  const { host, edgeId, routePath } = await edge.site(await edge.staticBackend(address));
  const bare = await edge.site(await edge.staticBackend(address));

  assert.equal((await edge.world.api('PUT', `${routePath}/hooked`, { mark: 'nothing' })).status, 400);
  assert.equal((await edge.world.api('PUT', `${routePath}/hooked`, { mark: '' })).status, 200);
  assert.equal((await edge.ask(host)).status, 503, 'a module that cannot be prepared refuses');
  await edge.api('PUT', `${routePath}/hooked`, { mark: '!' });
  assert.equal((await edge.api('GET', `${routePath}/hooked`)).mark, '!');
  assert.equal((await edge.api('PUT', `${routePath}/hooked`, { mark: 'UP' })).mark, 'up');
  assert.equal((await edge.api('PUT', `${routePath}/hooked`, { mark: 'SAME' })).mark, 'up', 'the stored one is kept');
  assert.equal((await edge.world.api('PUT', `${bare.routePath}/hooked`, { mark: 'same' })).status, 400);
  await edge.api('PUT', `${routePath}/hooked`, { mark: '!' });

  // Headers, a bounded body, the response's head, body and trailers.
  const forged = { 'x-hooked-body': 'forged', 'x-notes': 'forged' };
  const headers = { host, 'x-unwanted': '1', ...forged, 'content-length': '5' };
  const sent = requestHttps({ agent: false, ...edge.tlsOptions(host), method: 'POST', headers } as object);
  sent.end('hello');
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  let body = '';
  for await (const chunk of answer) body += String(chunk);
  assert.equal(body, 'body!');
  assert.equal(answer.headers['x-marked'], '!');
  assert.equal(answer.headers['x-configured-by'], 'operator');
  assert.equal(answer.headers['x-known-length'], 'null');
  assert.equal(answer.trailers['x-mark'], '!');
  assert.deepEqual(answer.headers['set-cookie'], ['kept=1']);
  const [got = {}] = seen;
  assert.equal(got['x-unwanted'], undefined);
  assert.equal(got['x-notes'], undefined);
  assert.equal(got['x-hooked-body'], 'hello');
  assert.equal(got['host'], 'inner.example');
  assert.equal(seenUrl, '/inner?x=1');
  assert.equal(got['x-hooked-standing'], '1');
  assert.match(String(got['x-count']), /^\d+$/);

  // Refusals: of a path, with the module's own error, and of a body beyond the setting.
  const refused = await edge.ask(host, '/refused');
  assert.equal(refused.status, 402);
  assert.equal(refused.headers['postern-error-code'], 'ERR_POSTERN_HOOKED');
  assert.equal(await edge.status(host, '/late'), 402, 'at its second place');
  const longer = { method: 'POST', body: 'longer', headers: { 'content-length': '6' } };
  assert.equal(await edge.status(host, '/', longer), 413);
  assert.equal(await edge.status(host, '/long', longer), 200);
  assert.equal(seen.at(-1)?.['x-hooked-body'], 'null');

  // A redirect.
  const moved = await edge.ask(host, '/moved');
  assert.deepEqual([moved.status, moved.headers['location']], [307, 'https://elsewhere.example/']);
  const why = await edge.api('POST', '/explain', { url: `https://${host}/refused`, address: '192.0.2.9' });
  assert.match(JSON.stringify(why.decisions), /refused 192\.0\.2\.9/);
  const explained = await edge.api('POST', '/explain', { url: `https://${host}/moved` });
  assert.deepEqual([explained.outcome.status, explained.outcome.location], [307, 'https://elsewhere.example/']);

  // A path of its own, which no upstream sees; and every port.
  await sleep(20);
  const before = seen.length;
  const post = { method: 'POST', body: 'x', headers: { 'content-length': '1' } };
  const own = await edge.ask(host, '/.postern/hooked', post);
  assert.deepEqual(JSON.parse(own.text), {
    memory: [5, -1],
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
    heard: true,
    'edge changed': true,
    routes: 1,
    followed: { current: true, written: true, 'written again': false, doc: { text: 'a mark' }, revision: 'number' },
    sent: 'x',
    modules: [1, true],
    notes: [true, 0, 4, 'info, no identity host'],
  });
  assert.equal((await edge.ask(bare.host, '/.postern/hooked', post)).status, 404, 'its requests carry secrets');
  assert.equal(seen.length, before);
  const metrics = await edge.metrics();
  assert.match(metrics, /^hooked_events_total\{event="request"\} [1-9]/m);
  const admitted = metrics.match(/^hooked_events_total\{event="admitted"\} \d+/m)?.[0];
  await edge.api('POST', '/explain', { url: `https://${host}/` });
  assert.ok(admitted !== undefined && (await edge.metrics()).includes(`${admitted}\n`), 'nobody has sent that');

  // A state that operators watch, on the metrics page and as an alert.
  const routeId = routePath.split('/').at(-1) ?? '';
  assert.match(metrics, new RegExp(`^hooked_shouts\\{edge="${edgeId}",route="${routeId}"\\} 1$`, 'm'));
  let alerts: { kind: string; title: string; advice: string }[] = [];
  for (const giveUp = Date.now() + 30_000; alerts.length === 0 && Date.now() < giveUp; await sleep(200)) {
    alerts = (await edge.api('GET', '/alerts')).alerts;
  }
  assert.deepEqual(
    alerts.map(({ kind, advice }) => [kind, advice]),
    [['hooked_shouting', 'use another mark']],
  );
  assert.match(alerts[0]?.title ?? '', new RegExp(`^${host}/? ?\\(${routeId}\\) shouts on .`));
  for (const line of ['the hooked module is open', 'the notes are open'])
    assert.ok(edge.world.logLines.some((logged) => logged.includes(line)));

  // Questions about the stored configuration, and about a proposed one.
  const since = '2026-11-01T00:00:00Z';
  const asked = await edge.api('GET', `${routePath}/hooked/length?since=${since}`);
  const { uri } = asked.edge;
  const expected = {
    sessions: 0,
    since_ms: Date.parse(since),
    edge: { id: edgeId, uri },
    is_known: true,
    path_reader: 'hooked mark',
  };
  assert.deepEqual(asked, { length: 1, ...expected });
  assert.equal((await edge.api('POST', `${routePath}/hooked/length`, { hooked: { mark: '!!' }, more: 3 })).length, 5);
  assert.equal((await edge.world.api('POST', `${routePath}/hooked/length`, { more: 3 })).status, 400);

  // A backend of its own choice, whose response has a known body.
  await edge.api('PUT', `${routePath}/hooked`, { mark: '!', backend_id: await edge.httpResponse('fixed') });
  const fixed = await edge.ask(host);
  assert.equal(fixed.text, 'fixed!');
  assert.equal(fixed.headers['x-fixed-length'], '5');

  // Asked for by an agent.
  const agent = await world.agent([{ proto: 'https', addr: address, modules: { hooked: { mark: '?' } } }]);
  const tunnelled = await edge.ask(new URL(agent.publicUrl ?? '').hostname);
  assert.equal(tunnelled.text, 'body?');
  assert.equal(tunnelled.headers['x-configured-by'], 'agent');
});

test('a login and a token tell who sends a request', { timeout: 60_000 }, async () => {
  const { host, routePath } = await edge.site(await edge.staticBackend(address));
  await edge.api('PUT', `${routePath}/hooked_login`, {});
  await edge.api('PUT', `${routePath}/hooked`, { mark: '!' });
  const second = await edge.world.api('PUT', `${routePath}/oidc`, { issuer: 'https://example.com', client_id: 'a' });
  assert.match(second.text, /a route has one login/);

  const nobody = await edge.ask(host);
  assert.equal(nobody.status, 401);
  assert.equal(nobody.headers['www-authenticate'], 'Name');
  const who = async (headers: Record<string, string>, method = 'GET'): Promise<unknown> => {
    assert.equal(await edge.status(host, '/', { headers, method }), 200);
    return seen.at(-1)?.['x-hooked-who'];
  };
  assert.equal(await who({ 'x-person': 'ann' }), 'ann');
  assert.equal(await who({ 'x-token': 'robot' }), 'robot');
  assert.equal(await who({}, 'OPTIONS'), 'exempt');
  assert.equal(await edge.status(host, '/', { headers: { 'x-person': 'eve' } }), 402);

  // Explanations ask as somebody who never logged in, and show the sentences of reasons and the names of rules.
  const decided = async (email: string, path = '/'): Promise<unknown> => {
    const question = { url: `https://${host}${path}`, as: { email } };
    const { decisions } = await edge.api('POST', '/explain', question);
    type Decision = { module: string; decision: string; reason: string; rule?: string; text: string };
    return (decisions as Decision[]).map(({ decision, reason, rule, text }) => rule ?? `${decision} ${reason} ${text}`);
  };
  const known = ['pass open It is open.', 'pass known The notes know the name.'];
  assert.deepEqual(((await decided('ann')) as string[]).slice(0, 3), [...known, 'pass open It is open.']);
  assert.deepEqual(((await decided('ann', '/rehearsed')) as string[]).slice(0, 3), [...known, 'deny[1]']);
  assert.deepEqual(((await decided('eve')) as string[]).slice(0, 3), [...known, 'deny[0]']);
});

test('a module of an edge speaks to the TLS layer', { timeout: 60_000 }, async () => {
  const { host, edgePath } = await edge.site(await edge.httpResponse('fixed'));
  const open = await edge.api('PUT', `${edgePath}/hooked_edge`, {});
  assert.equal(open.kept, 'always');
  assert.equal(await edge.status(host), 200);
  const old = requestHttps({
    agent: false,
    ...edge.tlsOptions(host),
    maxVersion: 'TLSv1.2',
    headers: { host },
  } as object);
  const [error] = (await once(old.end(), 'error')) as [Error];
  assert.match(error.message, /protocol version/);
  await edge.api('PUT', `${edgePath}/hooked_edge`, { closed: true });
  await assert.rejects(edge.ask(host), 'a handshake without a certificate');
});
