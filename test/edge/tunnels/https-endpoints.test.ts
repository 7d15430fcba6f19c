import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, test } from 'node:test';
import { newHost } from '../../support/edge-world.ts';
import { CLIENT_ID, CLIENT_SECRET, LoginWorld } from '../../support/login-world.ts';
import { issue } from '../tls/test-authority.ts';
import { until } from '../tls/tls-world.ts';
import type { FakeAgent } from './fake-agent.ts';
import { dial, TunnelWorld } from './tunnel-world.ts';

const world = await TunnelWorld.open({ after });

/** A response whose start has reached the client, and which the agent does not end. */
async function answerUnderWay(agent: FakeAgent, host: string) {
  agent.handle = (stream) => {
    stream.respond({ ':status': 200 });
    stream.write('first');
  };
  const session = await world.clients.http2(host);
  const stream = session.request({ ':path': '/', ':authority': host });
  stream.on('error', () => {});
  await once(stream, 'data');
  const closed = new Promise((resolve) => stream.once('close', resolve));
  return { session, stream, closed };
}

test('serves a published host through its tunnel until it is withdrawn', async (context) => {
  const { id } = await world.tunnel(context);
  const { host, id: endpointId, ...published } = await world.publish(id);
  assert.deepEqual(published, {
    ok: true,
    publicUrl: `https://${host}:${world.clients.port}`,
    hostport: `${host}:${world.clients.port}`,
  });
  const answer = await world.clients.ask(host, '/x?y=1');
  assert.equal(answer.status, 200);
  assert.equal(JSON.parse(answer.text).headers['postern-tunnel'], id);
  world.edge.endpoints.withdraw(endpointId);
  await assert.rejects(world.clients.ask(host), /unrecognized name|EPROTO|alert/i);
});

test('no leaf is issued before somebody connects: 2,000 names that return at once would wait for each other', async (context) => {
  const { id } = await world.tunnel(context);
  const before = world.leaves.length;
  const published = await Promise.all(Array.from({ length: 20 }, () => world.publish(id)));
  const site = await world.clients.site(await world.clients.staticBackend('127.0.0.1:9'));
  const { host } = published.at(-1) ?? assert.fail();
  const statuses = await Promise.all([host, host, host].map((name) => world.clients.status(name)));
  assert.deepEqual(statuses, [200, 200, 200]);
  assert.deepEqual(world.leaves.slice(before), [host]);
  await world.clients.status(site.host);
  assert.deepEqual(world.leaves.slice(before), [host, site.host]);
});

test('an offline agent: 503 that says so, until it is back', async (context) => {
  const { id, agent } = await world.tunnel(context);
  const { host } = await world.publish(id);
  world.tunnels.remove(id);
  const answer = await world.clients.ask(host);
  assert.deepEqual([answer.status, answer.headers['postern-error-code']], [503, 'ERR_POSTERN_NO_TUNNEL']);
  assert.match(answer.text, /agent that serves this site is offline/);
  world.tunnels.add(id, agent);
  assert.equal(await world.clients.status(host), 200);
});

test('a node that is cut off serves tunnels with labels, but no names of agents', async (context) => {
  const { id, agent } = await world.tunnel(context);
  const { host } = await world.publish(id);
  const plain = await world.publish(id, { proto: 'http' });
  const raw = await world.publish(id, { proto: 'tls' });
  world.tunnels.add('tn_labelled', agent, { isolated: 'yes' });
  const group = await world.group({ isolated: 'yes' });
  world.tunnels.mayServe = false;
  context.after(() => {
    world.tunnels.mayServe = true;
    world.tunnels.remove('tn_labelled');
  });
  // At once: each of them waits for the right to come back.
  const [answer, response] = await Promise.all([
    world.clients.ask(host),
    fetch(`http://127.0.0.1:${world.httpPort}/`, { headers: { host: plain.host } }).catch(() => null),
    assert.rejects(world.clients.ask(raw.host)),
  ]);
  assert.deepEqual([answer.status, answer.headers['postern-error-code']], [503, 'ERR_POSTERN_NODE_ISOLATED']);
  assert.ok(response === null || response.status !== 200);
  await until(() => world.closed.some(({ outcome }) => outcome === 'node_isolated'));
  assert.equal(await world.clients.status(group.host), 200);
  assert.equal(agent.seen.length, 1, 'only the request for the group');
  world.tunnels.mayServe = true;
  assert.equal(await world.clients.status(host), 200);
});

test('visitors wait while a node that stood still renews its lease, and nothing is sent before', async (context) => {
  const { id, agent } = await world.tunnel(context);
  const raw = await world.tunnel(context);
  raw.agent.handle = (stream, headers) => {
    raw.agent.seen.push({ headers, body: '' });
    stream.respond({ ':status': 200 });
    stream.pipe(stream);
  };
  const { host } = await world.publish(id);
  const tcp = await world.publish(raw.id, { proto: 'tcp' });
  world.tunnels.mayServe = false;
  context.after(() => {
    world.tunnels.mayServe = true;
  });
  const answer = world.clients.ask(host, '/', { method: 'POST', body: 'a body' });
  const socket = await dial(context, Number((tcp.ok ? tcp.hostport : '').split(':').at(-1)));
  const echoed = once(socket, 'data');
  socket.write('ping');
  const gone = world.clients.ask(host, '/gone', { signal: AbortSignal.timeout(100) });
  await assert.rejects(gone);
  await until(() => world.edge.requestsInFlight === 1);
  assert.deepEqual([agent.seen.length, raw.agent.seen.length], [0, 0]);
  world.tunnels.mayServe = true;
  const { status, text } = await answer;
  assert.deepEqual([status, JSON.parse(text).body], [200, 'a body']);
  assert.equal(String((await echoed)[0]), 'ping');
  assert.equal(agent.seen.length, 1, 'not the request whose client went away');
  socket.destroy();
});

test('a withdrawal cuts running requests, and returns 421 on the same connection', async (context) => {
  const { id, agent } = await world.tunnel(context);
  const { host, id: endpointId } = await world.publish(id);
  const { session, stream, closed } = await answerUnderWay(agent, host);
  world.edge.endpoints.withdraw(endpointId);
  await closed;
  assert.notEqual(stream.rstCode, 0);
  const next = session.request({ ':path': '/', ':authority': host });
  const [headers] = await once(next, 'response');
  assert.equal(headers[':status'], 421);
  next.close();
  await until(() => agent.active === 0);
});

test('prefers an exact edge over an agent, and an agent over a wildcard', async (context) => {
  const { id } = await world.tunnel(context);
  const zone = newHost();
  const { host } = await world.clients.site(await world.clients.httpResponse('wildcard'), `*.${zone}`);
  assert.equal(host, `*.${zone}`);
  const name = `a.${zone}`;
  assert.equal(world.edge.endpoints.isCoveredByEdge(name), true);
  assert.equal(world.edge.endpoints.isCoveredByEdge(`a.b.${zone}`), false);
  const agentFor = world.clients.agent();
  context.after(() => agentFor.destroy());
  assert.equal((await world.clients.ask(name, '/', { agent: agentFor })).text, 'wildcard');
  const published = await world.publish(id, { host: name });
  assert.equal(published.ok, true);
  // The visitor's connection was opened for the wildcard's edge, which required no more than the agent does.
  assert.equal((await world.clients.ask(name, '/', { agent: agentFor })).headers['x-agent'], id);
  assert.equal((await world.clients.ask(name)).headers['x-agent'], id);
  assert.equal((await world.clients.ask(`b.${zone}`)).text, 'wildcard');
  const exact = await world.clients.site(await world.clients.httpResponse('exact'), name);
  assert.equal((await world.clients.ask(name)).text, 'exact');
  const refused = await world.publish(id, { host: name });
  assert.equal(!refused.ok && refused.code, 'ERR_POSTERN_TUNNEL_NAME_TAKEN');
  await world.clients.api('DELETE', exact.edgePath);
  assert.equal((await world.clients.ask(name)).headers['x-agent'], id);
  world.edge.endpoints.withdraw(published.id);
  assert.equal((await world.clients.ask(name)).text, 'wildcard');
});

test('cuts requests through an agent when an edge takes its name', async (context) => {
  const { id, agent } = await world.tunnel(context);
  const { host } = await world.publish(id);
  const { closed } = await answerUnderWay(agent, host);
  await world.clients.site(undefined, host);
  await closed;
  await until(() => agent.active === 0);
});

test('ip_restriction: allowed, denied, and a message for an invalid range', async (context) => {
  const { id } = await world.tunnel(context);
  const at = async (allow: readonly string[], deny: readonly string[]) => {
    const { host, ...published } = await world.publish(id, {
      modules: { ip_restriction: { allow: [...allow], deny: [...deny] } },
    });
    return published.ok ? world.clients.status(host) : published.message;
  };
  assert.equal(await at(['127.0.0.0/8'], []), 200);
  assert.equal(await at(['192.0.2.0/24'], []), 403);
  assert.equal(await at(['127.0.0.0/8'], ['127.0.0.1/32']), 403);
  assert.equal(await at([], ['192.0.2.0/24']), 200);
  assert.equal(await at([], ['127.0.0.1/32']), 403);
  assert.match(String(await at(['127.0.0.1'], [])), /^ip_restriction: "127\.0\.0\.1" must be an address with a prefix/);
  assert.match(String(await at(['10.0.0.1/8'], [])), /use "10\.0\.0\.0\/8"/);
  assert.match(String(await at([], [])), /at least one allowed or denied range/);
});

test('mutual_tls: only clients with a certificate of the authority', async (context) => {
  const { id } = await world.tunnel(context);
  const [authority, other] = await Promise.all([
    issue({ commonName: 'staff', isCa: true }),
    issue({ commonName: 'other', isCa: true }),
  ]);
  const mine = await issue({ commonName: 'alice', issuer: authority, usages: ['client'] });
  const foreign = await issue({ commonName: 'mallory', issuer: other, usages: ['client'] });
  const { host } = await world.publish(id, { modules: { mutual_tls: { ca_pems: [authority.certificatePem] } } });
  const answer = await world.clients.ask(host, '/', { cert: mine.certificatePem, key: mine.keyPem });
  assert.equal(answer.status, 200);
  assert.equal(JSON.parse(answer.text).headers['postern-mtls-subject-cn'], 'alice');
  await assert.rejects(world.clients.ask(host, '/', { cert: foreign.certificatePem, key: foreign.keyPem }));
  await assert.rejects(world.clients.ask(host));
  for (const [pem, words] of [
    [mine.certificatePem, /is not a CA certificate/],
    ['nonsense', /cannot be parsed/],
    [mine.keyPem, /cannot be parsed/],
  ] as const) {
    const refused = await world.publish(id, { modules: { mutual_tls: { ca_pems: [pem] } } });
    assert.match(refused.ok ? '' : refused.message, words);
  }
});

test('compression', async (context) => {
  const { id, agent } = await world.tunnel(context);
  agent.handle = (stream) => {
    stream.respond({ ':status': 200, 'content-type': 'text/plain' });
    stream.end('word '.repeat(2000));
  };
  const { host } = await world.publish(id, { modules: { compression: {} } });
  const answer = await world.clients.ask(host, '/', { headers: { 'accept-encoding': 'gzip' } });
  assert.equal(answer.headers['content-encoding'], 'gzip');
  assert.ok(answer.body.length < 1000);
});

test('oidc: nobody without a login, and with one the identity; then its messages', async (context) => {
  const login = await LoginWorld.open(context);
  const here = login.servedBy(world.clients);
  const { id } = await world.tunnel(context);
  const oidc = { issuer: login.provider.issuer, client_id: CLIENT_ID, client_secret: CLIENT_SECRET, scopes: ['email'] };
  const { host } = await world.publish(id, { modules: { oidc } });
  here.register(host);
  const stranger = await world.clients.ask(host);
  assert.equal(stranger.status, 401);
  const browser = here.browser();
  const page = await browser.logIn(host, '/private?x=1');
  assert.equal(page.status, 200);
  const { headers } = JSON.parse(page.text);
  assert.equal(headers[':path'], '/private?x=1');
  assert.match(headers['postern-auth-user-email'] ?? JSON.stringify(headers), /alice/);
  assert.equal((await browser.open(host, '/again')).status, 200);
  for (const [fields, words] of [
    [{ issuer: '' }, /^oidc: issuer must be given/],
    [{ issuer: 'http://idp.example.com' }, /^oidc: issuer /],
    [{ surprise: 1 }, /surprise/],
    [{ maximum_duration: -1 }, /maximum_duration/],
  ] as const) {
    const refused = await world.publish(id, { modules: { oidc: { ...oidc, ...fields } } });
    assert.equal(!refused.ok && refused.code, 'ERR_POSTERN_TUNNEL_INVALID');
    assert.match(refused.ok ? '' : refused.message, words);
  }
});

test('all modules at once, in order: the address is checked before the login', async (context) => {
  const { id } = await world.tunnel(context);
  const oidc = { issuer: 'https://idp.example.com', client_id: 'x' };
  const ip_restriction = { allow: ['192.0.2.0/24'], deny: [] };
  const { host } = await world.publish(id, { modules: { oidc, ip_restriction, compression: {} } });
  assert.equal(await world.clients.status(host), 403);
});

test('endpoints come and go by the hundred without their own series', async (context) => {
  const { id } = await world.tunnel(context);
  for (let at = 0; at < 20; at += 1) {
    const { host, id: endpointId } = await world.publish(id);
    assert.equal(await world.clients.status(host), 200);
    world.edge.endpoints.withdraw(endpointId);
  }
  const text = await world.registry.metrics();
  assert.match(text, /postern_edge_requests_total\{edge="ephemeral",route="",status="200"\} \d+/);
  assert.doesNotMatch(text, /edge="ep_/);
});
