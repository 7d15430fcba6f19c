import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { ClientHttp2Session, IncomingHttpHeaders } from 'node:http2';
import { connect } from 'node:net';
import { test } from 'node:test';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { startAgent } from '../../../src/tunnel/agent/index.ts';
import { ALPN } from '../../../src/tunnel/protocol/protocol.ts';
import { trustIn } from '../../support/edge-world.ts';
import { LAUNCHER, startServerProcess } from '../../support/server-process.ts';
import { isLong } from '../../support/share-of-cases.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { TEST_API_KEY } from '../../support/test-world.ts';
import { recordingUpstream } from '../traffic/recording-upstream.ts';
import { ProcessSites, portOf } from './support/process-sites.ts';
import { until } from './support/until.ts';

/** A thread has a dozen of its own. */
const LIMIT = 140 + 24 * Number(process.env['POSTERN_TEST_WORKERS'] ?? 0);
const VISITORS = 12;
const TOKEN = `test-token-${randomBytes(24).toString('base64url')}`;
const SCARCE = /^file descriptors are running out/;
const ENOUGH = /^there are enough file descriptors again/;

/** Whether a connection is closed before it said anything. */
async function isRefused(port: number): Promise<boolean> {
  const socket = connect({ host: '127.0.0.1', port }).on('error', () => {});
  await Promise.race([once(socket, 'close'), new Promise((resolve) => setTimeout(resolve, 60_000).unref())]);
  const isClosed = socket.closed;
  socket.resume().destroy();
  return isClosed;
}

test('a process whose file descriptors run out says so, keeps the API, and recovers', async (t) => {
  const upstream = await recordingUpstream({ after: (task) => t.after(task) });
  const dataDir = await tempDir({ after: (task) => t.after(task) });
  const postern = startServerProcess({ after: (task) => t.after(task) }, dataDir, {
    command: ['bash', '-c', `ulimit -n ${LIMIT}; exec "$@"`, '-', process.execPath, LAUNCHER],
    // Visitors that say nothing must stay for the whole test.
    env: {
      POSTERN_API_KEY: TEST_API_KEY,
      POSTERN_AUTHTOKEN: TOKEN,
      POSTERN_TCP_PORTS: '127.0.0.1:21000-21999',
      POSTERN_EDGE_HEADER_TIMEOUT: '600',
      POSTERN_EDGE_IDLE_TIMEOUT: '600',
    },
  });
  const { addresses } = await postern.ready();
  const { api, edge, edge_http, tunnel } = addresses as Record<'api' | 'edge' | 'edge_http' | 'tunnel', string>;
  const sites = new ProcessSites({ api, edge }, trustIn(dataDir));
  t.after(() => sites.disconnect());
  const logged = (line: RegExp): number => postern.lines().filter(({ msg }) => line.test(String(msg))).length;
  const site = await sites.site(await sites.staticBackend(upstream.address));

  const tunnels = [{ proto: 'tcp', addr: upstream.address }] as const;
  const agent = startAgent({ serverAddr: tunnel, ca: [...trustIn(dataDir)], authtoken: TOKEN, tunnels });
  t.after(() => agent.close());
  await agent.ready;
  const tcpPort = portOf(agent.publicUrl ?? '');

  // A single address leaves half of them to others: see one-visitor.test.ts.
  const visitors: ClientHttp2Session[] = [];
  for (let at = 1; at <= VISITORS; at += 1)
    visitors.push(await sites.http2(site.host, { localAddress: `127.0.2.${at}` } as object));
  const visit = async (path: string, at = 0): Promise<IncomingHttpHeaders> => {
    const stream = (visitors[at % VISITORS] as ClientHttp2Session).request({ ':path': path });
    const [headers] = (await once(stream.resume(), 'response')) as [IncomingHttpHeaders];
    return headers;
  };
  assert.equal((await visit('/'))[':status'], 200);
  assert.equal(logged(SCARCE), 0);

  // One after the other, until the first is refused.
  const idle: TLSSocket[] = [];
  for (;;) {
    const localAddress = `127.0.1.${idle.length + 1}`;
    const socket = await sites.connect(site.host, { localAddress } as object).catch(() => null);
    if (socket === null) break;
    idle.push(socket);
    assert.ok(idle.length < LIMIT);
  }
  assert.equal(await isRefused(portOf(edge)), true);
  assert.equal(await isRefused(portOf(edge_http)), true);
  assert.equal(await isRefused(tcpPort), true);

  // Others go on: the API, visitors who are there, agents.
  assert.equal((await sites.call('GET', '/healthz')).status, 200);
  assert.equal((await visit('/'))[':status'], 200);
  const newAgent = connectTls({ port: portOf(tunnel), ALPNProtocols: [ALPN], rejectUnauthorized: false });
  await once(newAgent, 'secureConnect');
  newAgent.on('error', () => {}).destroy();

  // Requests that each need a connection of their own, until the rest is the reserve.
  let release = (): void => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  upstream.answer = (_request, response) => void released.then(() => response.end('late'));
  const answers = Array.from({ length: 60 }, (_, at) => visit('/held', at));
  const refused = await Promise.race(answers);
  assert.deepEqual(
    [refused[':status'], refused['postern-error-code'], refused['retry-after']],
    [503, 'ERR_POSTERN_EDGE_OVERLOADED', '1'],
  );
  assert.equal(await isRefused(portOf(tunnel)), true);

  const address = { address: '127.0.0.1:1' };
  assert.equal((await sites.call('GET', '/healthz')).status, 200);
  assert.equal((await sites.call('GET', '/edges/https')).status, 200);
  assert.equal((await sites.call('POST', '/backends/static', address)).status, 201);
  assert.equal((await sites.call('PUT', `${site.routePath}/compression`, { enabled: true })).status, 200);
  const isLow = ({ kind }: { kind: string }): boolean => kind === 'file_descriptors_low';
  await until(async () => (await sites.api('GET', '/alerts')).alerts.filter(isLow).length === 1, 'the alert is raised');
  const headers = { authorization: `Bearer ${TEST_API_KEY}`, connection: 'close' };
  const metrics = await (await fetch(`http://${api}/metrics`, { headers })).text();
  for (const use of ['visitor', 'agent', 'upstream'])
    assert.match(metrics, new RegExp(`^postern_descriptor_refusals_total\\{use="${use}"\\} [1-9]`, 'm'));
  assert.equal(logged(SCARCE), 1);
  assert.equal(logged(/an upstream failed/), 0);

  release();
  const statuses = (await Promise.all(answers)).map((headers) => headers[':status']);
  assert.deepEqual(new Set(statuses), new Set([200, 503]));
  for (const socket of idle) socket.destroy();
  await until(async () => (await sites.status(site.host).catch(() => 0)) === 200, 'visitors are accepted');
  const open = connect({ host: '127.0.0.1', port: tcpPort });
  open.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  assert.match(String((await once(open, 'data'))[0]), /^HTTP\/1.1 200 /);
  open.destroy();
  // After ten quiet seconds; src/kit/process/descriptor-budget.test.ts has them with a clock of its own.
  if (isLong) await until(() => logged(ENOUGH) === 1, 'the log says that it is over');
  assert.equal(logged(SCARCE), 1);

  // Clients of the API cannot use them up either.
  const clients = Array.from({ length: LIMIT }, () => connect({ port: portOf(api) }).on('error', () => {}));
  await Promise.race(clients.map((client) => once(client.resume(), 'close')));
  assert.equal(await sites.status(site.host), 200);
  for (const client of clients) client.destroy();
});
