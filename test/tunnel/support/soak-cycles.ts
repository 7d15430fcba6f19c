import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { TunnelSpec } from '../../../src/agent/index.ts';
import type { Cleanup } from '../../support/cleanup.ts';
import { TunnelWorld } from '../../support/tunnel-world.ts';
import { eventually, hostOf, localHttp } from './fault-world.ts';
import { RawAgent } from './raw-agent.ts';

const TCP_PORTS = 12;
/** Of a string beside its characters, and of its place in a list. */
const LINE_BYTES = 32;
/** Cycles after which the process has its buffers, caches and compiled code. */
const WARM_UP = 60;
/** So long names and ids of an agent that was lost are kept. */
const RESUME_WITHIN_MS = 60_000;

interface Belongings {
  readonly heapBytes: number;
  /** What keeps the event loop, by its kind: sockets, listeners, timers. */
  readonly resources: Readonly<Record<string, number>>;
  readonly metrics: readonly string[];
  readonly leases: number;
}

export interface SoakFigures {
  readonly before: Belongings;
  readonly after: Belongings;
}

/** Agents come and go, in good order or not, and leave nothing. */
export async function runCycles(
  test: Cleanup,
  { cycles, withAborts }: { readonly cycles: number; readonly withAborts: boolean },
): Promise<SoakFigures> {
  const world = await TunnelWorld.open(test, { POSTERN_TCP_PORTS: `127.0.0.1:22000-${22_000 + TCP_PORTS - 1}` });
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
    const { port: tcpPort } = new URL(agent.tunnels[3]?.url ?? '');
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
    // In the middle of what it asked for, and by a hair before or after.
    if (at % 2 === 0) await new Promise((resolve) => setTimeout(resolve, at % 5));
    agent.destroy();
  };
  const belongings = async (): Promise<Belongings> => {
    const leases = await Promise.all(
      (['tunnel_session', 'tunnel', 'endpoint'] as const).map((kind) =>
        store.presence.list(kind, { beforeId: null, limit: 100, nowMs: 0 }),
      ),
    );
    const metrics = (await edge.metrics()).split('\n').filter((line) => /^postern_gateway_/.test(line));
    collectGarbage();
    await new Promise((resolve) => setTimeout(resolve, 100));
    collectGarbage();
    // The test keeps the server's log.
    const logBytes = edge.world.logLines.reduce((sum, line) => sum + line.length + LINE_BYTES, 0);
    return {
      heapBytes: process.memoryUsage().heapUsed + process.memoryUsage().external - logBytes,
      resources: countOf(process.getActiveResourcesInfo()),
      metrics,
      leases: leases.flat().length,
    };
  };
  for (let at = 0; at < WARM_UP; at += 1) await cycle();
  await settled(belongings);
  const before = await belongings();
  for (let at = 0; at < cycles; at += 1) {
    // Ports of agents that were lost are kept for them; there are only a few.
    if (withAborts && at % 50 === 25) await abort(at);
    await cycle().catch((error: unknown) => {
      throw new Error(`cycle ${at} failed`, { cause: error });
    });
  }
  if (withAborts) await new Promise((resolve) => setTimeout(resolve, RESUME_WITHIN_MS + 5_000));
  await settled(belongings);
  const after = await belongings();
  // Nobody holds a name or a port any more.
  await edge.edge('*.localhost');
  const all = await world.agent(
    specs.filter(({ proto }) => proto === 'tcp').flatMap((spec) => Array.from({ length: TCP_PORTS }, () => spec)),
  );
  await all.close();
  return { before, after };
}

async function settled(read: () => Promise<Belongings>): Promise<void> {
  await eventually('nothing is connected', async () => {
    const { metrics } = await read();
    return metrics.every((line) => line.endsWith(' 0'));
  });
  // Last words, idle connections of clients, timers of a second.
  await new Promise((resolve) => setTimeout(resolve, 2_500));
}

function countOf(names: readonly string[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
}

export function checkSoak({ before, after }: SoakFigures, maxGrowthBytes: number): void {
  assert.deepEqual(after.metrics, before.metrics);
  assert.deepEqual([before.leases, after.leases], [0, 0]);
  for (const kind of ['TCPSocketWrap', 'TCPServerWrap', 'Timeout']) {
    assert.ok(
      (after.resources[kind] ?? 0) <= (before.resources[kind] ?? 0) + 2,
      `${kind}: ${JSON.stringify({ before, after })}`,
    );
  }
  const grown = after.heapBytes - before.heapBytes;
  assert.ok(grown < maxGrowthBytes, `the heap grew by ${grown} bytes`);
}

export function describeSoak({ before, after }: SoakFigures): string {
  const mb = (bytes: number): string => (bytes / 1_048_576).toFixed(1);
  return `heap ${mb(before.heapBytes)} → ${mb(after.heapBytes)} MB, resources ${JSON.stringify(before.resources)} → ${JSON.stringify(after.resources)}`;
}
