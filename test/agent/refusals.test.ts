import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import { type AgentEvent, connect, startAgent } from '../../src/tunnel/agent/index.ts';
import { issue } from '../edge/tls/test-authority.ts';
import { agentFor, fakeGateway, httpWorld, QUICK } from './support/agent-world.ts';
import { gatewayCertificate, testAuthority } from './support/fake-gateway.ts';

const TUNNEL = { proto: 'https', addr: 1 } as const;
const WRONG_TOKEN = {
  t: 'refused',
  code: 'ERR_POSTERN_AGENT_TOKEN',
  message: 'not one of ours',
  retry: false,
} as const;

async function refusalOf(t: TestContext, serverAddr: string, servername = 'gateway.test'): Promise<string> {
  const { certificatePem: ca } = await testAuthority();
  const agent = startAgent({ serverAddr, servername, ca, authtoken: 'x', tunnels: [TUNNEL], timings: QUICK });
  t.after(() => agent.close());
  for (;;) {
    const [event] = await once(agent, 'status');
    if (event.reason !== null) return `${event.status}: ${event.reason}`;
  }
}

test('a wrong token ends the agent with the reason', async (t) => {
  const gateway = await fakeGateway(t, {
    onHello: (connection) => {
      connection.send(WRONG_TOKEN);
      return true;
    },
  });
  const events: AgentEvent[] = [];
  await assert.rejects(
    connect({
      serverAddr: gateway.addr,
      servername: 'gateway.test',
      ca: gateway.ca,
      authtoken: 'x',
      tunnels: [TUNNEL],
      onEvent: (event) => events.push(event),
    }),
    { code: 'ERR_POSTERN_AGENT_TOKEN', message: 'not one of ours' },
  );
  const last = events.at(-1);
  assert.ok(last?.type === 'status' && last.status === 'stopped' && last.reason === 'not one of ours');
  assert.equal(gateway.accepted, 1);
});

test('a credential that is deleted later ends the agent, even when it reconnects', async (t) => {
  const { connection, agent } = await httpWorld(t, (_request, response) => response.end());
  const stopped = once(agent, 'status');
  connection.send({ t: 'refused', code: 'ERR_POSTERN_AGENT_REVOKED', message: 'deleted', retry: false });
  const [event] = await stopped;
  assert.deepEqual([event.status, event.code, event.reason], ['stopped', 'ERR_POSTERN_AGENT_REVOKED', 'deleted']);

  const gateway = await fakeGateway(t, {
    onHello: (second) => {
      if (gateway.connections.length === 1) return false;
      second.send(WRONG_TOKEN);
      return true;
    },
  });
  const other = agentFor(t, gateway, { tunnels: [TUNNEL] });
  await other.ready;
  (await gateway.connection(0)).cut();
  while (other.status !== 'stopped') await once(other, 'status');
  assert.equal(gateway.connections.length, 2);
});

test('retries a temporary refusal, and starts a new session after a refused resume', async (t) => {
  const gateway = await fakeGateway(t, {
    onHello: (connection) => {
      const isFirst = gateway.connections.length === 1;
      const isResume = connection.hello.resume !== undefined;
      if (isFirst)
        connection.send({ t: 'refused', code: 'ERR_POSTERN_GATEWAY_DRAINING', message: 'wait', retry: true });
      else if (isResume) connection.send({ t: 'refused', code: 'ERR_SOME', message: 'not this one', retry: false });
      return isFirst || isResume;
    },
  });
  const agent = agentFor(t, gateway, { tunnels: [TUNNEL] });
  await agent.ready;
  const bound = once(agent, 'bound');
  (await gateway.connection(1)).cut();
  await bound;
  assert.notEqual((await gateway.connection(2)).hello.resume, undefined);
  assert.equal((await gateway.connection(3)).hello.resume, undefined);
});

test('rejects untrusted certificates with a helpful message', async (t) => {
  const issuer = await testAuthority();
  const names = { usages: ['server'] as const, dnsNames: ['gateway.test'], commonName: 'gateway.test' };
  const expired = await fakeGateway(t, { certificate: await issue({ ...names, issuer, fromDays: -9, toDays: -2 }) });
  assert.match(await refusalOf(t, expired.addr), /^stopped: the certificate of .* expired on .*renew it/);
  const early = await fakeGateway(t, { certificate: await issue({ ...names, issuer, fromDays: 2 }) });
  assert.match(await refusalOf(t, early.addr), /^stopped: .* is valid only from .*: correct the clock/);
  const stranger = await fakeGateway(t, { certificate: await issue(names) });
  assert.match(
    await refusalOf(t, stranger.addr),
    /^stopped: .* authority that is not trusted .* run "postern ca print > .* --root-ca/,
  );
  const good = await fakeGateway(t, { certificate: await gatewayCertificate() });
  const wrongName = await refusalOf(t, good.addr, 'other.test');
  assert.match(wrongName, /^stopped: .* is not for "other.test" but for DNS:gateway.test/);
  assert.equal(expired.connections.length + early.connections.length + stranger.connections.length, 0);
});

test('describes a server that is not a gateway, and one that is missing', async (t) => {
  const otherProtocol = await fakeGateway(t, { alpn: ['http/1.1'] });
  assert.match(await refusalOf(t, otherProtocol.addr), /is not a tunnel gateway/);
  const plain = createHttpServer().listen(0, '127.0.0.1');
  await once(plain, 'listening');
  t.after(() => void plain.close());
  const plainAddr = `127.0.0.1:${(plain.address() as AddressInfo).port}`;
  assert.match(await refusalOf(t, plainAddr), /connecting: .*does not use TLS|not a tunnel gateway/);
  assert.match(await refusalOf(t, '127.0.0.1:1'), /^connecting: nothing listens at 127.0.0.1:1/);
  assert.match(await refusalOf(t, 'no-such-name.invalid:1'), /^connecting: the name in .* cannot be resolved/);
});

test('gives up on a server that never responds', async (t) => {
  const silent = createServer((socket) => {
    socket.on('error', () => {});
    t.after(() => socket.destroy());
  }).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  t.after(() => void silent.close());
  const agent = startAgent({
    serverAddr: `127.0.0.1:${(silent.address() as AddressInfo).port}`,
    authtoken: 'x',
    tunnels: [TUNNEL],
    timings: { ...QUICK, connectTimeoutMs: 100 },
  });
  t.after(() => agent.close());
  const [event] = await once(agent, 'status');
  assert.match(event.reason, /did not respond within 0.1 s/);
  const mute = await fakeGateway(t, { onHello: () => true });
  const waiting = agentFor(t, mute, { tunnels: [TUNNEL], timings: { ...QUICK, welcomeTimeoutMs: 100 } });
  const [late] = await once(waiting, 'status');
  assert.equal(late.reason, 'the server did not send welcome in time');
});

test('garbage from the server costs only the connection', async (t) => {
  const { gateway, agent, connection } = await httpWorld(t, (_request, response) => response.end('ok'));
  const garbage = [
    'not json\n',
    '[]\n',
    '{"t":"bound","ref":"x"}\n',
    '{"t":"welcome","session":"ts","secret":null,"generation":1,"region":"","connections":1,"resumed":false}\n',
    `${'x'.repeat(70_000)}\n`,
    Buffer.from([0xff, 0xfe, 0x0a]),
    '{"t":"drain"}\n'.repeat(5_000),
  ];
  let current = connection;
  for (const line of garbage) {
    const bound = once(agent, 'bound');
    const count = gateway.connections.length;
    current.control.write(line);
    // A drain joins; the others reconnect after the cut.
    current = await gateway.connection(count);
    if (current.hello.join === undefined) await bound;
  }
  const harmless = [
    '{"t":"news","x":1}\n',
    '{"t":"bound","ref":77,"id":"tn","region":""}\n',
    '{"t":"unbound","ref":77,',
  ];
  for (const line of harmless) current.control.write(line);
  current.control.write('"code":"","message":"","retry":true}\n');
  const answer = await current.request(agent.tunnels[0]?.id ?? '');
  assert.equal(answer.body, 'ok');
});

test('rejects impossible requests at no other cost', async (t) => {
  const { connection, tunnel } = await httpWorld(t, (_request, response) => response.end('ok'));
  await assert.rejects(connection.request(tunnel, { ':path': '/a b' }), /PROTOCOL_ERROR/);
  assert.equal((await connection.request(tunnel, { ':protocol': 'other', ':method': 'CONNECT' }, '')).status, 404);
  assert.equal((await connection.request(tunnel)).body, 'ok');
});

test('reports a refused tunnel, and ends when all are refused', async (t) => {
  const gateway = await fakeGateway(t, {
    onBind: (connection, { ref, domain }) => {
      if (domain !== 'no.test') return false;
      connection.send({ t: 'unbound', ref, code: 'ERR_POSTERN_TUNNEL_ACL', message: 'not allowed', retry: false });
      return true;
    },
  });
  const refused = { ...TUNNEL, domain: 'no.test' };
  const agent = agentFor(t, gateway, { tunnels: [TUNNEL, refused] });
  await agent.ready;
  assert.deepEqual(
    agent.tunnels.map(({ status, problem }) => [status, problem]),
    [
      ['online', null],
      ['refused', 'not allowed'],
    ],
  );
  const useless = agentFor(t, gateway, { tunnels: [refused] });
  await assert.rejects(useless.ready, { code: 'ERR_POSTERN_TUNNEL_ACL', message: 'not allowed' });
});

test('requests a tunnel that was removed later again if that may succeed', async (t) => {
  const { connection, agent } = await httpWorld(t, (_request, response) => response.end());
  const unbound = once(agent, 'unbound');
  const bound = once(agent, 'bound');
  connection.send({ t: 'unbound', ref: 0, code: 'ERR_X', message: 'a moment', retry: true });
  const [event] = await unbound;
  assert.deepEqual([event.code, event.message, event.retry], ['ERR_X', 'a moment', true]);
  await bound;
  assert.equal((await connection.message('bind', 1)).domain, 'given-0.gateway.test');
  assert.equal(agent.tunnels[0]?.status, 'online');
});

test('a request that overtakes the message about its tunnel waits for it', async (t) => {
  const gateway = await fakeGateway(t, {
    onBind: (connection, bind) => {
      if (bind.ref !== 1) return false;
      early.resolve(connection.request('tn_1_early'));
      setTimeout(() => gateway.bound(connection, { ...bind, id: 'tn_1_early' }), 50);
      return true;
    },
  });
  const early = Promise.withResolvers<{ readonly body: string }>();
  const { port } = await httpWorld(t, (_request, response) => response.end('ok'));
  const addr = `127.0.0.1:${port}`;
  const agent = agentFor(t, gateway, {
    tunnels: [
      { ...TUNNEL, addr },
      { ...TUNNEL, addr },
    ],
  });
  await agent.ready;
  assert.equal((await early.promise).body, 'ok');
});

test('rejects invalid options before dialling', async () => {
  const base = { serverAddr: 'gateway.test:1', authtoken: 'x' };
  const wrong = [
    { ...base, serverAddr: 'gateway.test', tunnels: [] },
    { ...base, tunnels: [{ addr: 1 }] },
    { ...base, tunnels: [{ proto: 'http', labels: { a: 'b' }, addr: 1 }] },
    ...['', 'x', '0', '70000', 'ftp://x:1', 'http://x/path', 'http://u:p@x', 'tcp://x', ':80'].map((addr) => ({
      ...base,
      tunnels: [{ proto: 'http' as const, addr }],
    })),
  ];
  for (const options of wrong) await assert.rejects(connect(options as never), { name: 'AgentError' });
});
