import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:https';
import type { Cleanup } from '../../support/cleanup.ts';
import { trustIn } from '../../support/edge-world.ts';
import { type PosternProcess, startServerProcess } from '../../support/server-process.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { TEST_API_KEY } from '../../support/test-world.ts';
import { eventually, localHttp } from './fault-world.ts';
import { FaultyProxy } from './faulty-proxy.ts';
import { startAgents } from './start-agents.ts';

export interface RestartFigures {
  /** Relative to when the new server was ready: when each agent had its tunnel again. */
  readonly backMs: readonly number[];
  /** From the kill until the new server was ready. */
  readonly downMs: number;
  /** Dials while it was down and until all were back. */
  readonly dials: number;
  /** The maximum within a tenth of a second, once the server was up again. */
  readonly mostDials: number;
}

interface Server {
  readonly process: PosternProcess;
  readonly tunnelPort: number;
  readonly edgePort: number;
}

function portOf(address: unknown): number {
  return Number(String(address).split(':').at(-1));
}

async function startServer(test: Cleanup, dataDir: string, token: string): Promise<Server> {
  const process = startServerProcess(test, dataDir, {
    env: { POSTERN_API_KEY: TEST_API_KEY, POSTERN_AUTHTOKEN: token, POSTERN_API_RATE_LIMIT: '0' },
  });
  const { addresses } = await process.ready();
  const { tunnel, edge } = addresses as Readonly<Record<string, string>>;
  return { process, tunnelPort: portOf(tunnel), edgePort: portOf(edge) };
}

function statusOf(port: number, host: string, ca: readonly string[]): Promise<number> {
  return new Promise((resolve) => {
    const options = {
      host: '127.0.0.1',
      port,
      servername: host,
      ca: [...ca],
      headers: { host },
      agent: false as const,
    };
    const sent = request(options, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    sent.on('error', () => resolve(0)).end();
  });
}

function mostWithin(timesMs: readonly number[], withinMs: number): number {
  return Math.max(0, ...timesMs.map((ms) => timesMs.filter((other) => other >= ms && other < ms + withinMs).length));
}

/** A server with agents is killed and restarted: all come back, under their names. */
export async function runRestart(
  test: Cleanup,
  { agents, processes }: { readonly agents: number; readonly processes: number },
): Promise<RestartFigures> {
  const dataDir = await tempDir(test);
  const token = `restart-${randomBytes(24).toString('base64url')}`;
  const port = await localHttp(test, (_request, response) => response.end('here'));
  const first = await startServer(test, dataDir, token);
  const ca = trustIn(dataDir);
  // Agents know one address, like that of a machine; the server's port behind it changes.
  const proxy = await FaultyProxy.open(test, first.tunnelPort);
  const count = agents / processes;
  const groups = await Promise.all(
    Array.from({ length: processes }, () =>
      startAgents(test, { serverAddr: proxy.addr, ca, token, port, count, isPatient: true }),
    ),
  );
  const numbers = Array.from({ length: count }, (_, at) => at);
  const urls = groups.map((group) => numbers.map((at) => group.url(at)));
  assert.equal(new Set(urls.flat()).size, agents);
  // Agents that were connected this long come back quickly.
  await new Promise((resolve) => setTimeout(resolve, 6_000));
  const dialsBefore = proxy.dialledAtMs.length;
  proxy.isDown = true;
  first.process.child.kill('SIGKILL');
  await first.process.exited;
  const killedAtMs = Date.now();
  const second = await startServer(test, dataDir, token);
  proxy.targetPort = second.tunnelPort;
  proxy.isDown = false;
  const upAtMs = Date.now();
  const backAt = (group: (typeof groups)[number], at: number): number | undefined => {
    const found = group.messages.find(
      (message) => message.type === 'bound' && message.at === at && message.timeMs > killedAtMs,
    );
    return found?.type === 'bound' ? found.timeMs : undefined;
  };
  const isBack = () => groups.every((group) => numbers.every((at) => backAt(group, at) !== undefined));
  await eventually('all agents are back', isBack, 180_000);
  assert.deepEqual(
    groups.map((group) => numbers.map((at) => group.url(at).replace(/:\d+$/, ''))),
    urls.map((each) => each.map((url) => url.replace(/:\d+$/, ''))),
    'names were kept',
  );
  for (const url of [urls[0]?.[0], urls.at(-1)?.at(-1)]) {
    assert.equal(await statusOf(second.edgePort, new URL(url ?? '').hostname, ca), 200);
  }
  const dialled = proxy.dialledAtMs.slice(dialsBefore);
  const exits = groups.map(({ child }) => once(child, 'exit'));
  for (const group of groups) group.kill('SIGKILL');
  await Promise.all(exits);
  return {
    backMs: groups.flatMap((group) => numbers.map((at) => (backAt(group, at) ?? 0) - upAtMs)).toSorted((a, b) => a - b),
    downMs: upAtMs - killedAtMs,
    dials: dialled.length,
    mostDials: mostWithin(
      dialled.filter((ms) => ms >= upAtMs),
      100,
    ),
  };
}

export function describeRestart({ backMs, downMs, dials, mostDials }: RestartFigures): string {
  const at = (share: number): number => backMs[Math.min(backMs.length - 1, Math.floor(share * backMs.length))] ?? 0;
  const histogram = new Map<number, number>();
  for (const ms of backMs)
    histogram.set(Math.floor(ms / 500) * 500, (histogram.get(Math.floor(ms / 500) * 500) ?? 0) + 1);
  const bars = [...histogram].map(([ms, count]) => `${ms / 1000} s: ${count}`).join(', ');
  return `down for ${downMs} ms; back after it was up: first ${at(0)}, median ${at(0.5)}, p90 ${at(0.9)}, last ${at(1)} ms; ${dials} dials, at most ${mostDials} in 100 ms; ${bars}`;
}
