// Own process: takes long, because it opens thousands of streams
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { get, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { ClientHttp2Session } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { after, suite, type TestContext, test } from 'node:test';
import { descriptorLimit } from '../../../src/kit/process/descriptor-budget.ts';
import type { AgentHandle } from '../../../src/tunnel/agent/index.ts';
import type { EdgeClients } from '../../support/edge-clients.ts';
import { EdgeWorld, trustIn } from '../../support/edge-world.ts';
import { LAUNCHER, startServerProcess } from '../../support/server-process.ts';
import { isLong } from '../../support/share-of-cases.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { TEST_API_KEY } from '../../support/test-world.ts';
import { type AgentFields, TunnelWorld } from '../../support/tunnel-world.ts';
import { twoNodes } from '../../support/two-nodes.ts';
import { eventually, hostOf, localHttp, QUICK_TRIES } from '../../tunnel/support/fault-world.ts';
import { FaultyProxy } from '../../tunnel/support/faulty-proxy.ts';
import { http2Upstream } from '../abuse/support/http2-upstream.ts';
import { ProcessSites } from '../abuse/support/process-sites.ts';
import { UpstreamAuthority } from '../settings/upstream-authority.ts';

const SESSIONS = 10;
/**
 * `npm test` opens fewer streams, to agents that have fewer files, so that a visitor still asks for all of an agent.
 */
const STREAMS_EACH = isLong ? 200 : 20;
const STREAMS = SESSIONS * STREAMS_EACH;
const PER_CONNECTION = STREAMS / 2;
/** With so many, `GatewayConnection` takes as many requests. */
const FILES_OF_AGENT = isLong ? descriptorLimit() : 8 * PER_CONNECTION + 64;
const ASKED = isLong ? 20 : 8;
const OTHER = '127.0.0.2';

const FILES = isLong ? 1_200 : 300;
const authority = await UpstreamAuthority.trusted({ after });

interface Site {
  readonly edge: EdgeClients;
  readonly host: string;
}

/** An event stream for each path but `/short`. */
const events: RequestListener = (request, response) => {
  if (request.url === '/short') {
    response.end('short');
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write('data: 1\n\n');
};

interface Held {
  /** How many responses of each status the visitor has got. */
  readonly statuses: ReadonlyMap<number, number>;
  readonly codes: ReadonlySet<string>;
  close(): void;
}

/** An agent whose connections take PER_CONNECTION requests each, because it has so few files. */
async function agentOf(world: TunnelWorld, addr: number, fields: AgentFields = {}): Promise<AgentHandle> {
  const limit = descriptorLimit();
  limitFiles(FILES_OF_AGENT);
  try {
    return await world.agent([{ proto: 'https', addr }], fields);
  } finally {
    limitFiles(limit);
  }
}

/** An agent reads the limit when it connects for the first time. */
function limitFiles(limit: number): void {
  const { status, stderr } = spawnSync('prlimit', ['--pid', String(process.pid), `--nofile=${limit}:`]);
  assert.equal(status, 0, String(stderr));
}

/** One visitor opens event streams over ten connections, and keeps what it gets. */
async function holdAll({ edge, host }: Site, localAddress = '127.0.0.1', count = SESSIONS): Promise<Held> {
  const sessions: ClientHttp2Session[] = [];
  const statuses = new Map<number, number>();
  const codes = new Set<string>();
  for (let at = 0; at < count; at += 1) {
    const session = await edge.http2(host, { localAddress } as object);
    sessions.push(session);
    const opened = Array.from({ length: STREAMS_EACH }, async () => {
      const stream = session.request({ ':path': '/slow', ':authority': host });
      stream.on('error', () => {});
      const [headers] = (await once(stream, 'response')) as [Record<string, string>];
      const status = Number(headers[':status']);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (headers['postern-error-code'] !== undefined) codes.add(headers['postern-error-code']);
      stream.resume();
    });
    await Promise.all(opened);
  }
  const close = (): void => {
    for (const session of sessions) session.destroy();
  };
  return { statuses, codes, close };
}

/** Statuses and the median latency of another visitor, who makes a connection for each request. */
async function askFromElsewhere({ edge, host }: Site): Promise<{ statuses: Set<number>; medianMs: number }> {
  const statuses = new Set<number>();
  const times: number[] = [];
  for (let at = 0; at < ASKED; at += 1) {
    const began = performance.now();
    statuses.add(await edge.status(host, '/short', { localAddress: OTHER }));
    times.push(performance.now() - began);
  }
  return { statuses, medianMs: times.toSorted((a, b) => a - b)[ASKED / 2] ?? 0 };
}

async function assertOthersAreServed(t: TestContext, site: Site): Promise<Held> {
  const before = await askFromElsewhere(site);
  assert.deepEqual(before.statuses, new Set([200]));
  const held = await holdAll(site);
  const during = await askFromElsewhere(site);
  t.diagnostic(
    `other visitor: median ${before.medianMs.toFixed(1)} ms before, ${during.medianMs.toFixed(1)} ms meanwhile; the first got ${JSON.stringify([...held.statuses])} ${[...held.codes].join()}`,
  );
  assert.deepEqual(during.statuses, new Set([200]), 'another visitor');
  return held;
}

function assertShare({ statuses }: Held, share: number): void {
  assert.equal(statuses.get(200), share);
  assert.equal(statuses.get(503) ?? 0, STREAMS - share);
}

suite('a visitor who opens as many event streams as an agent takes', () => {
  test('leaves half of an agent to others', async (t) => {
    const world = await TunnelWorld.open(t);
    const agent = await agentOf(world, await localHttp(t, events));
    const site = { edge: world.edge, host: hostOf(agent) };
    const held = await assertOthersAreServed(t, site);
    assertShare(held, PER_CONNECTION);
    const refused = await world.edge.ask(site.host, '/short');
    assert.deepEqual([refused.status, refused.headers['retry-after']], [503, '1']);
    assert.match(refused.text, /ERR_POSTERN_TUNNEL_FULL/);
    held.close();
  });

  suite('of a server with two workers', async () => {
    const world = await TunnelWorld.open({ after }, { POSTERN_WORKERS: '2' });
    const addr = await localHttp({ after }, events);

    test('leaves half of an agent to others', async (t) => {
      const agent = await agentOf(world, addr);
      const held = await assertOthersAreServed(t, { edge: world.edge, host: hostOf(agent) });
      assertShare(held, PER_CONNECTION);
      held.close();
    });

    test('leaves half of an agent to others that is connected to another thread', async (t) => {
      const agent = await agentOf(world, addr, { connections: 1 });
      const held = await assertOthersAreServed(t, { edge: world.edge, host: hostOf(agent) });
      assertShare(held, PER_CONNECTION / 2);
      held.close();
    });
  });

  test('leaves half of an agent to others that is connected to another node', async (t) => {
    const [holder, visited] = await twoNodes(t);
    const agent = await agentOf(holder, await localHttp(t, events), { connections: 1 });
    const held = await assertOthersAreServed(t, { edge: visited.edge, host: hostOf(agent) });
    assertShare(held, PER_CONNECTION / 2);
    // The node of the agent counts those of all nodes.
    assert.equal(await holder.edge.status(hostOf(agent), '/short'), 503);
    assert.equal(await holder.edge.status(hostOf(agent), '/short', { localAddress: OTHER }), 200);
    held.close();
  });
});

suite('a visitor who opens many event streams of an upstream', () => {
  suite('that is not limited', async () => {
    const edge = await EdgeWorld.open({ after });

    test('does not delay others over HTTP/1.1', async (t) => {
      const port = await localHttp(t, events);
      const { host } = await edge.site(await edge.staticBackend(`127.0.0.1:${port}`));
      const held = await assertOthersAreServed(t, { edge, host });
      assertShare(held, STREAMS);
      held.close();
    });

    test('does not delay others over HTTP/2', async (t) => {
      const server = await http2Upstream(t, await authority.issue());
      const { host } = await edge.site(await edge.staticBackend(server.address, true));
      const held = await assertOthersAreServed(t, { edge, host });
      assertShare(held, STREAMS);
      assert.ok(server.accepted < STREAMS / 50, `${server.accepted} connections`);
      held.close();
    });
  });

  for (const workers of [1, 2]) {
    test(`leaves half of the file descriptors to others, with workers: ${workers}`, async (t) => {
      const dataDir = await tempDir(t);
      const postern = startServerProcess(t, dataDir, {
        command: ['bash', '-c', `ulimit -n ${FILES}; exec "$@"`, '-', process.execPath, LAUNCHER],
        env: { POSTERN_API_KEY: TEST_API_KEY, POSTERN_WORKERS: String(workers) },
      });
      const { addresses } = await postern.ready();
      const sites = new ProcessSites(addresses as Record<'api' | 'edge', string>, trustIn(dataDir));
      t.after(() => sites.disconnect());
      const streams = new Set<ServerResponse>();
      const port = await localHttp(t, (request, response) => {
        streams.add(response.once('close', () => streams.delete(response)));
        events(request, response);
      });
      const site = { edge: sites, ...(await sites.site(await sites.staticBackend(`127.0.0.1:${port}`))) };
      const held = await assertOthersAreServed(t, site);
      const got = held.statuses.get(200) ?? 0;
      assert.ok(got > FILES / 4 && got < FILES / 2, `${got}`);
      assert.deepEqual(held.codes, new Set(['ERR_POSTERN_UPSTREAM_FULL']));
      held.close();
      await eventually('the server has closed the streams', () => streams.size === 0);
      const sockets = await Promise.allSettled(Array.from({ length: FILES }, () => sites.connect(site.host)));
      const open = sockets.filter(({ status }) => status === 'fulfilled').length;
      t.diagnostic(`${open} connections of one address`);
      assert.ok(open > FILES / 4 && open < (3 * FILES) / 4, `${open}`);
      assert.equal(await sites.status(site.host, '/short', { localAddress: OTHER }), 200);
    });
  }
});

test('one address that fills the API with connections leaves half of them to others', async (t) => {
  const postern = startServerProcess(t, await tempDir(t), {
    command: ['bash', '-c', `ulimit -n ${FILES}; exec "$@"`, '-', process.execPath, LAUNCHER],
    env: { POSTERN_API_KEY: TEST_API_KEY },
  });
  const { addresses } = await postern.ready();
  const [host = '', port = ''] = String(addresses['api']).split(':');
  const held = Array.from({ length: FILES / 4 }, () => connect({ host, port: Number(port) }).on('error', () => {}));
  t.after(() => {
    for (const socket of held) socket.destroy();
  });
  await once(held.at(-1)?.resume() as Socket, 'close', { signal: AbortSignal.timeout(20_000) });
  const [answer] = (await once(get({ host, port, path: '/healthz', localAddress: OTHER }), 'response')) as [
    IncomingMessage,
  ];
  assert.equal(answer.resume().statusCode, 200);
});

test('an agent opens further connections while its streams are in use, and closes them later', async (t) => {
  const world = await TunnelWorld.open(t);
  const proxy = await FaultyProxy.open(t, world.port);
  const agent = await agentOf(world, await localHttp(t, events), {
    serverAddr: `127.0.0.1:${proxy.port}`,
    timings: { ...QUICK_TRIES, shrinkAfterMs: 300 },
  });
  const connections = (): number => proxy.connections.filter(({ isOpen }) => isOpen).length;
  await eventually('it has two connections', () => connections() === 2);
  const site = { edge: world.edge, host: hostOf(agent) };
  const first = await holdAll(site);
  assert.deepEqual([first.statuses.get(200), connections()], [PER_CONNECTION, 2], 'one visitor makes it open none');
  const second = await holdAll(site, '127.0.0.3', 5);
  await eventually('it has a third one', () => connections() === 3);
  assert.ok((second.statuses.get(200) ?? 0) >= PER_CONNECTION / 2, JSON.stringify([...second.statuses]));
  const third = await holdAll(site, '127.0.0.4', 3);
  assert.equal(third.statuses.get(200), 3 * STREAMS_EACH, 'its streams are in use');
  for (const held of [first, second, third]) held.close();
  await eventually('it has two again', () => connections() === 2);
  assert.equal(await world.edge.status(site.host, '/short'), 200);
});
