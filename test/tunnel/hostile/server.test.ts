// Own process: measures memory.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createServer, type TLSSocket } from 'node:tls';
import { type AgentEvent, startAgent } from '../../../src/tunnel/agent/index.ts';
import type { AgentTimings } from '../../../src/tunnel/agent/timings.ts';
import { ALPN } from '../../../src/tunnel/protocol/protocol.ts';
import { agentFor, fakeGateway } from '../../agent/support/agent-world.ts';
import { gatewayCertificate, testAuthority } from '../../agent/support/fake-gateway.ts';
import { FRAME, frame, SETTINGS, SETTINGS_ACK } from '../../support/http2-frames.ts';
import { eventually, QUICK_TRIES } from '../support/fault-world.ts';

const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
const TUNNEL = { proto: 'https', addr: 1 } as const;
const MB = 1_048_576;

/** A server whose side of every connection the test controls, and an agent that dials it. */
async function hostileServer(t: TestContext, serve: (socket: TLSSocket) => void, timings: Partial<AgentTimings> = {}) {
  const { certificatePem: cert, keyPem: key } = await gatewayCertificate();
  const sockets = new Set<Socket>();
  const state = { accepted: 0 };
  const server = createServer({ cert, key, ALPNProtocols: [ALPN] }, (socket) => {
    state.accepted += 1;
    serve(socket.on('error', () => {}));
  });
  // Below TLS: a socket whose handshake ends together with the test would be missed, and keep the server open.
  server.on('connection', (socket) => sockets.add(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const events: AgentEvent[] = [];
  const agent = startAgent({
    serverAddr: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    servername: 'gateway.test',
    ca: (await testAuthority()).certificatePem,
    authtoken: 'token',
    tunnels: [TUNNEL],
    timings: { ...QUICK_TRIES, welcomeTimeoutMs: 500, ...timings },
    onEvent: (event) => events.push(event),
  });
  t.after(async () => {
    await agent.close();
    server.close();
    for (const socket of sockets) socket.destroy();
    await once(server, 'close');
  });
  const reasons = () => events.flatMap((event) => (event.type === 'status' ? (event.reason ?? []) : []));
  return { agent, reasons, state };
}

/** The control stream is opened by the rules of HTTP/2; after that the test controls it. */
function control(socket: TLSSocket, begin: (write: (bytes: string | Buffer) => void) => void): void {
  const session = connectHttp2('https://agent', { createConnection: () => socket }).on('error', () => {});
  session.once('connect', () => {
    const headers = { ':method': 'POST', ':path': '/control', ':authority': 'gateway', ':scheme': 'https' };
    const stream = session.request(headers, { endStream: false }).on('error', () => {});
    stream.once('response', () => begin((bytes) => stream.writable && stream.write(bytes)));
    stream.resume();
  });
}

const SERVERS: readonly (readonly [string, (socket: TLSSocket) => void, RegExp])[] = [
  ['garbage', (socket) => socket.write(Buffer.alloc(1_000, 'garbage ')), /the connection failed|was closed/],
  ['HTTP/1.1', (socket) => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'), /the connection failed|was closed/],
  ['nothing at all', () => {}, /did not send welcome in time/],
  ['a close at once', (socket) => socket.destroy(), /was closed|the connection failed/],
  [
    'no control stream',
    (socket) => void connectHttp2('https://agent', { createConnection: () => socket }).on('error', () => {}),
    /did not send welcome in time/,
  ],
  [
    'a request instead of a control stream',
    (socket) => {
      const session = connectHttp2('https://agent', { createConnection: () => socket }).on('error', () => {});
      session.once('connect', () => session.request({ ':path': '/' }).on('error', () => {}));
    },
    /not a Postern server/,
  ],
  [
    'garbage on the control stream',
    (socket) => control(socket, (write) => write('garbage\n')),
    /broke the protocol: .* not JSON/,
  ],
  ['a line of 1 MB', (socket) => control(socket, (write) => write(Buffer.alloc(MB, 'a'))), /more than 65536 bytes/],
  [
    'a flood of messages',
    (socket) => control(socket, (write) => write('{"t":"later"}\n'.repeat(10_000))),
    /too many control messages/,
  ],
  [
    'bound before welcome',
    (socket) => control(socket, (write) => write('{"t":"bound","ref":0,"id":"x","region":"r"}\n')),
    /first message of the server must be welcome/,
  ],
  [
    'a welcome with wrong fields',
    (socket) => control(socket, (write) => write('{"t":"welcome","session":1}\n')),
    /welcome has a wrong or missing field/,
  ],
];
for (const [what, serve, reason] of SERVERS) {
  test(`a server that sends ${what}: the agent reports it and keeps trying at a bounded rate`, async (t) => {
    const { agent, reasons, state } = await hostileServer(t, serve);
    await eventually('it says so', () => reasons().some((each) => reason.test(each)));
    await eventually('it tries again', () => state.accepted >= 3);
    assert.equal(agent.status, 'connecting');
  });
}

test('a server that floods frames costs the agent no memory', async (t) => {
  const ping = frame(FRAME.ping, 0, 0, Buffer.alloc(8));
  const settings = frame(FRAME.settings, 0, 0, Buffer.from([0, 4, 0, 0, 0xff, 0xff]));
  const before = process.memoryUsage().rss;
  const { state } = await hostileServer(t, (socket) => {
    socket.resume();
    socket.write(Buffer.concat([Buffer.from(PREFACE), SETTINGS, SETTINGS_ACK]));
    const many = Buffer.concat(Array.from({ length: 2_000 }, (_, at) => (at % 2 === 0 ? ping : settings)));
    const more = (): void => {
      if (socket.destroyed) return;
      if (socket.write(many)) setImmediate(more);
      else socket.once('drain', more);
    };
    more();
  });
  await eventually('several were given up', () => state.accepted >= 4);
  assert.ok(process.memoryUsage().rss - before < 200 * MB);
});

test('rejects streams for unknown tunnels without piling up', async (t) => {
  const gateway = await fakeGateway(t);
  const agent = agentFor(t, gateway, { tunnels: [TUNNEL] });
  await agent.ready;
  const connection = await gateway.connection(0);
  for (let round = 0; round < 5; round += 1) {
    const asked = Array.from({ length: 300 }, (_, at) => connection.request(`tn_unknown_${at}`));
    for (const { status } of await Promise.all(asked)) assert.equal(status, 404);
  }
  for (let at = 0; at < 100; at += 1) {
    const stream = connection.connect(`tn_unknown_${at}`);
    const [headers] = await once(stream, 'response');
    assert.equal(headers[':status'], 404);
    stream.destroy();
  }
  await eventually('nothing is in progress', () => agent.active === 0);
  assert.equal(agent.status, 'online');
});

test('streams for a tunnel that is still being bound wait a little and are then rejected', async (t) => {
  const gateway = await fakeGateway(t, { onBind: () => true });
  const agent = agentFor(t, gateway, { tunnels: [TUNNEL] });
  const connection = await gateway.connection(0);
  await connection.message('bind');
  const asked = Array.from({ length: 900 }, (_, at) => connection.request(`tn_unknown_${at}`));
  for (const { status } of await Promise.all(asked)) assert.equal(status, 404);
  assert.equal(agent.active, 0);
});

test('leaves a server that never answers a bind for a new session', async (t) => {
  const asked: string[] = [];
  const gateway = await fakeGateway(t, {
    connections: 2,
    onBind: ({ hello }, { ref }) => {
      asked.push(`${hello.resume === undefined ? 'new' : 'resumed'} ${ref}`);
      // The first session answers for one tunnel, the second for none, the third correctly.
      return gateway.sessions.size < 3 && (gateway.sessions.size > 1 || ref > 0);
    },
  });
  const reasons: string[] = [];
  const agent = agentFor(t, gateway, {
    tunnels: [TUNNEL, { ...TUNNEL, name: 'shop' }, TUNNEL],
    timings: { ...QUICK_TRIES, bindTimeoutMs: 1_000 },
    onEvent: (event) => {
      if (event.type === 'status' && event.reason !== null) reasons.push(`${event.status}: ${event.reason}`);
    },
  });
  await agent.ready;
  assert.deepEqual(
    agent.tunnels.map(({ status }) => status),
    ['online', 'online', 'online'],
  );
  assert.deepEqual(
    [...new Set(reasons)].filter((reason) => reason.includes('not responded')),
    [
      'reconnecting: the server has not responded to the request to open shop and 1 more for 1 s',
      'reconnecting: the server has not responded to the request to open tunnel-1 and 2 more for 1 s',
    ],
  );
  assert.deepEqual(
    asked,
    [0, 1, 2, 0, 1, 2, 0, 1, 2].map((ref) => `new ${ref}`),
  );
});

test('waits for a server that is slow with many tunnels but responds', async (t) => {
  let answered = Promise.resolve();
  const gateway = await fakeGateway(t, {
    onBind: (connection, bind) => {
      answered = answered.then(async () => {
        await sleep(400);
        gateway.bound(connection, bind);
      });
      return true;
    },
  });
  const timings = { ...QUICK_TRIES, bindTimeoutMs: 1_200 };
  const agent = agentFor(t, gateway, { tunnels: Array.from({ length: 8 }, () => TUNNEL), timings });
  await agent.ready;
  assert.equal(gateway.accepted, 1);
});

test('messages about unknown tunnels change nothing', async (t) => {
  const gateway = await fakeGateway(t);
  const agent = agentFor(t, gateway, { tunnels: [TUNNEL] });
  await agent.ready;
  const { id } = agent.tunnels[0] ?? {};
  const connection = await gateway.connection(0);
  connection.send({ t: 'bound', ref: 9, id: 'tn_9', region: 'test' });
  connection.send({ t: 'unbound', ref: 9, code: 'X', message: 'no', retry: false });
  connection.send({ t: 'command', id: 1, command: 'update' });
  await connection.message('done');
  assert.deepEqual([agent.status, agent.tunnels[0]?.id, agent.tunnels[0]?.status], ['online', id, 'online']);
});

test('leaves a server that welcomes twice, and tries one that withdraws its welcome less and less often', async (t) => {
  const gateway = await fakeGateway(t, {
    onHello: (connection) => {
      gateway.welcome(connection);
      gateway.welcome(connection);
      return true;
    },
  });
  const reasons: string[] = [];
  const agent = agentFor(t, gateway, { tunnels: [TUNNEL] });
  agent.on('status', ({ reason }) => reasons.push(reason ?? ''));
  await eventually('it says so', () => reasons.includes('the server sent welcome twice'));
  await eventually('it tries again', () => gateway.accepted >= 3);
});
