import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { connect } from 'node:net';
import { createSecureContext } from 'node:tls';
import { queryObjects, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { TunnelSpec } from '../../../src/tunnel/agent/index.ts';
import { BoundTunnel } from '../../../src/tunnel/gateway/agent-session.ts';
import type { Cleanup } from '../../support/cleanup.ts';
import { isLong } from '../../support/share-of-cases.ts';
import { TunnelWorld } from '../../support/tunnel-world.ts';
import { eventually, hostOf, localHttp } from './fault-world.ts';
import { RawAgent } from './raw-agent.ts';

const TCP_PORTS = 12;
/** How long names and ids of a lost agent are kept. */
const RESUME_WITHIN_MS = 60_000;

/** Everything that an agent adds consists of these, or depends on one of them. Each class takes seconds to count. */
const COUNTED: Readonly<Record<string, Parameters<typeof queryObjects>[0]>> = {
  EventEmitter,
  BoundTunnel,
  ...(isLong ? { Map, SecureContext: createSecureContext({}).constructor } : {}),
};
/** Fewer than there are cycles: a client of the test may or may not have closed its last connection. */
const MAX_MORE_OBJECTS = 8;

interface Belongings {
  readonly heapBytes: number;
  /** Reachable objects, by class. */
  readonly objects: Readonly<Record<string, number>>;
  /** What keeps the event loop alive, by kind: sockets, listeners, timers. */
  readonly resources: Readonly<Record<string, number>>;
  readonly metrics: readonly string[];
  readonly leases: number;
}

export interface SoakOptions {
  /** Cycles after which the process has its buffers, caches and compiled code. */
  readonly warmUp: number;
  readonly cycles: number;
  /** Some agents disconnect without notice, in the middle of a request. */
  readonly withAborts: boolean;
}

export interface SoakFigures {
  readonly before: Belongings;
  /** No objects: counting those of four classes takes seconds. */
  readonly halfway: Pick<Belongings, 'heapBytes'>;
  readonly after: Belongings;
}

/** Agents come and go, cleanly or not, and leave nothing behind. */
export async function runCycles(test: Cleanup, { warmUp, cycles, withAborts }: SoakOptions): Promise<SoakFigures> {
  const world = await TunnelWorld.open(test, {
    POSTERN_TCP_PORTS: `127.0.0.1:22000-${22_000 + TCP_PORTS - 1}`,
    // The test keeps the server's log.
    POSTERN_LOG_LEVEL: 'error',
  });
  const port = await localHttp(test, (_request, response) => response.end('here'));
  const { edge } = world;
  const { store } = edge.world;
  const group = await edge.api('POST', '/backends/tunnel_group', { labels: { app: 'soak' } });
  const site = await edge.site(group.id);
  const specs: readonly TunnelSpec[] = [
    { proto: 'https', addr: port },
    { proto: 'http', addr: port },
    { proto: 'tls', addr: port },
    { proto: 'tcp', addr: port },
    { labels: { app: 'soak' }, addr: port },
  ];
  const cycle = async (): Promise<void> => {
    const agent = await world.agent(specs);
    assert.equal(await edge.status(hostOf(agent)), 200);
    assert.equal(await edge.status(site.host), 200);
    const { port: tcpPort } = new URL(agent.tunnels[3]?.publicUrl ?? '');
    const socket = connect(Number(tcpPort), '127.0.0.1');
    await once(socket, 'connect');
    socket.destroy();
    await agent.close();
  };
  const abort = async (at: number): Promise<void> => {
    const agent = await RawAgent.greeted(world);
    const binds = ['https', 'tls', 'tcp'].map((proto, ref) => ({
      t: 'bind',
      ref,
      proto,
      metadata: '',
      forwards_to: '',
    }));
    for (const bind of binds.slice(0, at % 4)) agent.say(bind);
    // In the middle of its bind, and slightly before or after.
    if (at % 2 === 0) await new Promise((resolve) => setTimeout(resolve, at % 5));
    agent.destroy();
  };
  const gatewayMetrics = async (): Promise<readonly string[]> =>
    (await edge.metrics()).split('\n').filter((line) => /^postern_gateway_/.test(line));
  const belongings = async (): Promise<Belongings> => {
    const leases = await Promise.all(
      (['tunnel_session', 'tunnel', 'endpoint'] as const).map((kind) =>
        store.presence.list(kind, { beforeId: null, limit: 100, nowMs: 0 }),
      ),
    );
    const metrics = await gatewayMetrics();
    return {
      heapBytes: await heapBytes(),
      objects: Object.fromEntries(
        Object.entries(COUNTED).map(([name, kind]) => [name, queryObjects(kind, { format: 'count' })]),
      ),
      resources: countOf(process.getActiveResourcesInfo()),
      metrics,
      leases: leases.flat().length,
    };
  };
  for (let at = 0; at < warmUp; at += 1) await cycle();
  await settled(gatewayMetrics);
  const before = await belongings();
  let halfway: SoakFigures['halfway'] = before;
  for (let at = 0; at < cycles; at += 1) {
    if (at === cycles / 2) {
      await settled(gatewayMetrics);
      halfway = { heapBytes: await heapBytes() };
    }
    // Ports of lost agents are kept for them; there are only a few.
    if (withAborts && at % 50 === 25) await abort(at);
    await cycle().catch((error: unknown) => {
      throw new Error(`cycle ${at} failed`, { cause: error });
    });
  }
  await settled(gatewayMetrics);
  const after = await belongings();
  // Nobody holds a name or a port at this point.
  await edge.edge('*.localhost');
  const all = await world.agent(
    specs.filter(({ proto }) => proto === 'tcp').flatMap((spec) => Array.from({ length: TCP_PORTS }, () => spec)),
  );
  await all.close();
  return { before, halfway, after };
}

async function settled(metrics: () => Promise<readonly string[]>): Promise<void> {
  const isQuiet = async (): Promise<boolean> => (await metrics()).every((line) => line.endsWith(' 0'));
  await eventually('nothing is connected, and nobody is waited for', isQuiet, RESUME_WITHIN_MS + 30_000);
  // Pending messages, clients' idle connections, timers of a second.
  await new Promise((resolve) => setTimeout(resolve, 2_500));
}

function countOf(names: readonly string[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

async function heapBytes(): Promise<number> {
  collectGarbage();
  await new Promise((resolve) => setTimeout(resolve, 100));
  collectGarbage();
  return process.memoryUsage().heapUsed + process.memoryUsage().external;
}

function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
}

/**
 * Equal, except for `maxGrowthBytes` in the second half: by then all code is compiled, and every bounded cache is warm.
 */
export function checkSoak({ before, halfway, after }: SoakFigures, maxGrowthBytes: number): void {
  assert.deepEqual(after.metrics, before.metrics);
  assert.deepEqual([before.leases, after.leases], [0, 0]);
  for (const kind of ['TCPServerWrap', 'Timeout']) {
    assert.equal(
      after.resources[kind] ?? 0,
      before.resources[kind] ?? 0,
      `${kind}: ${JSON.stringify({ before, after })}`,
    );
  }
  // The test's own API client keeps one or two.
  const sockets = [before, after].map(({ resources }) => resources['TCPSocketWrap'] ?? 0) as [number, number];
  assert.ok(sockets[1] <= sockets[0] + 2, `sockets: ${sockets.join(' → ')}`);
  const more = Object.entries(after.objects)
    .map(([kind, count]) => ({ kind, count: count - (before.objects[kind] ?? 0) }))
    .filter(({ count }) => count > MAX_MORE_OBJECTS);
  assert.deepEqual(more, [], 'there are more objects than before');
  const grown = after.heapBytes - halfway.heapBytes;
  assert.ok(grown < maxGrowthBytes, `the heap grew by ${grown} bytes in the second half`);
}

export function describeSoak(figures: SoakFigures): string {
  const mb = (at: SoakFigures['halfway']): string => (at.heapBytes / 1_048_576).toFixed(2);
  const { before, halfway, after } = figures;
  const heap = `heap ${mb(before)} → ${mb(halfway)} → ${mb(after)} MB`;
  const objects = `objects ${JSON.stringify(before.objects)} → ${JSON.stringify(after.objects)}`;
  return `${heap}, ${objects}, resources ${JSON.stringify(before.resources)} → ${JSON.stringify(after.resources)}`;
}
