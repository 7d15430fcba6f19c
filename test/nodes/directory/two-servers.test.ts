import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { operatorEnv, runCommand } from '../../cli/run-command.ts';
import { newHost } from '../../support/edge-world.ts';
import { freshDatabase, startPostgres } from '../../support/postgres.ts';
import { TunnelWorld } from '../../support/tunnel-world.ts';

const postgres = await startPostgres();
after(() => postgres.stop());
const { url: databaseUrl } = await freshDatabase(postgres);
const env = { POSTERN_SECRET_KEY: randomBytes(32).toString('base64'), POSTERN_PEER_LISTEN: '127.0.0.1:0' };
const a = await TunnelWorld.open(
  { after },
  { ...env, POSTERN_NODE_NAME: 'node-a', POSTERN_ROLES: 'api,edge,gateway,events' },
  { databaseUrl },
);
const b = await TunnelWorld.open(
  { after },
  { ...env, POSTERN_NODE_NAME: 'node-b', POSTERN_AUTHTOKEN: a.token },
  { databaseUrl },
);

type Kind = 'tunnels' | 'endpoints' | 'tunnel_sessions';

async function listed({ edge }: TunnelWorld, kind: Kind): Promise<readonly { id: string }[]> {
  const { status, body } = await edge.world.api('GET', `/${kind}`);
  assert.equal(status, 200);
  return body[kind];
}

/** Waits until the lists of both nodes are equal and have this many objects; returns the one of `b`. */
async function same(kind: Kind, count: number): Promise<readonly { id: string }[]> {
  for (;;) {
    const [here, there] = [withoutUris(await listed(a, kind)), withoutUris(await listed(b, kind))];
    if (here.length === count && JSON.stringify(here) === JSON.stringify(there)) return there;
    await sleep(20);
  }
}

interface Traffic {
  readonly node: string;
  readonly tunnel_node: string | null;
  readonly proto?: string;
  readonly host?: string;
  readonly status?: number;
}

/** Objects of events, once there are two of each kind. */
async function reported(): Promise<readonly Traffic[]> {
  for (;;) {
    const text = await readFile(join(a.edge.world.dataDir, 'events', 'traffic.ndjson'), 'utf8').catch(() => '');
    const lines = text.split('\n').slice(0, -1);
    const objects = lines.map((line) => (JSON.parse(line) as { object: Traffic }).object);
    const requests = objects.filter(({ status }) => status === 502);
    if (requests.length >= 2 && objects.filter(({ proto }) => proto === 'tls').length >= 2) return objects;
    await sleep(20);
  }
}

/** The API of each server has an address of its own. */
function withoutUris(items: readonly { id: string }[]): readonly { id: string }[] {
  return JSON.parse(JSON.stringify(items, (key, value) => (key === 'uri' ? undefined : value)));
}

suite('two servers on one database', () => {
  test('list the same sessions, tunnels and endpoints, from the first to the last', async () => {
    const host = newHost();
    const tunnels = [
      { proto: 'https' as const, addr: 'http://127.0.0.1:9', domain: host },
      { labels: { app: 'shop' }, addr: 'http://127.0.0.1:9' },
    ];
    const agent = await a.agent(tunnels);
    const [session] = await same('tunnel_sessions', 1);
    const [first] = await same('tunnels', 2);
    await same('endpoints', 1);
    const { body } = await b.edge.world.api('GET', `/tunnels/${first?.id}`);
    assert.equal(body.tunnel_session.id, session?.id);
    await agent.close();
    for (const kind of ['tunnel_sessions', 'tunnels', 'endpoints'] as const) await same(kind, 0);
  });

  test('both report what is wrong on the machine of an agent, until it is over or the agent leaves', async () => {
    const reported = async ({ edge }: TunnelWorld): Promise<readonly string[]> =>
      (await edge.api('GET', '/problems')).problems
        .filter(({ check }: { check: string }) => check === 'agents')
        .map(({ message }: { message: string }) => message);
    const both = async (expected: readonly string[]): Promise<void> => {
      for (const world of [a, b]) while ((await reported(world)).join() !== expected.join()) await sleep(20);
    };
    const agent = await a.agent([], { metadata: 'builder', connections: 1 });
    await same('tunnel_sessions', 1);
    agent.reportProblems(['container web: no port']);
    await both(['agent builder (127.0.0.1): container web: no port']);
    const { stdout } = await runCommand(['status'], { env: operatorEnv(b.edge.world) });
    assert.match(stdout, /agent builder \(127\.0\.0\.1\): container web: no port/);
    agent.reportProblems([]);
    await both([]);
    agent.reportProblems(['container db: no port']);
    await both(['agent builder (127.0.0.1): container db: no port']);
    await agent.close();
    await both([]);
    await same('tunnel_sessions', 0);
  });

  test('both serve the name of an agent, until it leaves', async () => {
    const host = newHost();
    const agent = await a.agent([{ proto: 'https' as const, addr: 'http://127.0.0.1:9', domain: host }]);
    await same('endpoints', 1);
    while ((await b.edge.status(host).catch(() => 0)) === 0) await sleep(20);
    await agent.close();
    while ((await b.edge.status(host).catch(() => 0)) !== 0) await sleep(20);
  });

  test('log and report the names of both nodes for what went through another one, and one name otherwise', async () => {
    const destination = await b.edge.api('POST', '/event_destinations', {
      target: { file: { name: 'traffic.ndjson' } },
    });
    await b.edge.api('POST', '/event_subscriptions', {
      sources: [{ type: 'http_request_complete.v0' }, { type: 'tcp_connection_closed.v0' }],
      destination_ids: [destination.id],
    });
    const service = createServer((socket) => socket.once('data', () => socket.end('no TLS')).on('error', () => {}));
    await once(service.listen(0, '127.0.0.1'), 'listening');
    after(() => service.close());
    const [host, raw] = [newHost(), newHost()];
    const agent = await a.agent(
      [
        { proto: 'https', addr: 'http://127.0.0.1:9', domain: host },
        { proto: 'tls', addr: (service.address() as AddressInfo).port, domain: raw },
      ],
      { connections: 1 },
    );
    await same('endpoints', 2);
    for (const world of [b, a]) {
      // The service refuses connections: a failed request names the nodes too.
      while ((await world.edge.status(host).catch(() => 0)) !== 502) await sleep(20);
      const socket = connectTls({ port: world.edge.port, host: '127.0.0.1', servername: raw }).on('error', () => {});
      // The service does not speak TLS, so that an error comes first.
      await new Promise<void>((resolve) => {
        socket.once('close', () => resolve());
      });
    }
    await agent.close();
    for (const [world, expected] of [
      [b, ['node-b', 'node-a']],
      [a, ['node-a', undefined]],
    ] as const) {
      const lines = world.edge.world.logLines.map((line) => JSON.parse(line));
      const line = lines.findLast(({ host: of, status }) => of === host && status === 502);
      assert.deepEqual([line.node, line.tunnel_node], expected);
      const events = (await reported()).filter(({ node }) => node === expected[0]);
      assert.equal(events.find(({ proto }) => proto === 'tls')?.tunnel_node, expected[1] ?? null);
      const request = events.find(({ host: of, status }) => of === host && status === 502);
      assert.equal(request?.tunnel_node, expected[1] ?? null);
    }
  });

  test('the doctor reports a port that another node cannot open, and the command nodes lists both', async () => {
    // Both nodes have the same address here, so that only one of them can open the port.
    const agent = await a.agent([{ proto: 'tcp', addr: 9 }]);
    const env = { ...operatorEnv(b.edge.world), POSTERN_DATA_DIR: b.edge.world.dataDir };
    const problem = /^node-b: port \d+ of a tcp tunnel cannot be opened here/;
    for (;;) {
      const { findings } = JSON.parse((await runCommand(['doctor', '--json'], { env })).stdout);
      const found = findings.find(({ message }: { message: string }) => problem.test(message));
      if (found !== undefined) {
        assert.deepEqual([found.check, found.level], ['nodes', 'problem']);
        assert.match(found.advice, /tcp_ports/);
        assert.ok(findings.some(({ message }: { message: string }) => message === 'node-a is ready'));
        break;
      }
      await sleep(20);
    }
    await agent.close();
    const { code, stdout } = await runCommand(['nodes'], { env });
    assert.equal(code, 0);
    assert.match(stdout, /node-a/);
    assert.match(stdout, /node-b/);
  });

  test('a further one serves the names of their agents when it is ready, without a pause', async (t) => {
    const host = newHost();
    const agent = await a.agent([{ proto: 'https' as const, addr: 'http://127.0.0.1:9', domain: host }]);
    t.after(() => agent.close());
    const c = await TunnelWorld.open(t, { ...env, POSTERN_AUTHTOKEN: a.token }, { databaseUrl });
    assert.equal(await c.edge.status(host), 502);
    await agent.close();
    await same('endpoints', 0);
  });

  test('list nothing of a deleted credential', async () => {
    const { body: credential } = await a.edge.world.api('POST', '/credentials', {});
    await a.agent([{ labels: { app: 'gone' }, addr: 'http://127.0.0.1:9' }], { authtoken: credential.token });
    await same('tunnels', 1);
    await b.edge.world.api('DELETE', `/credentials/${credential.id}`);
    assert.deepEqual(await listed(b, 'tunnels'), []);
    assert.deepEqual(await listed(b, 'tunnel_sessions'), []);
    await same('tunnels', 0);
  });
});
