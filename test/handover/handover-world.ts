import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer as createTcpServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type AgentHandle, connect } from '../../src/tunnel/agent/index.ts';
import { ApiConnection } from '../support/api-connection.ts';
import type { Cleanup } from '../support/cleanup.ts';
import { webSocketUpstream } from '../support/clients/web-socket-upstream.ts';
import { newHost, trustIn } from '../support/edge-world.ts';
import { type PosternProcess, startServerProcess } from '../support/server-process.ts';
import { tempDir } from '../support/temp-dir.ts';
import { TEST_API_KEY } from '../support/test-world.ts';
import { localHttp } from '../tunnel/support/fault-world.ts';

const TOKEN = 'handover-authtoken-0123456789abcdef';

export interface WorldOptions {
  readonly databaseUrl?: string;
  readonly env?: Readonly<Record<string, string>>;
}

export interface CreatedEdge {
  readonly host: string;
  readonly edge: string;
  readonly routePath: string;
}

/** A server process with an edge, a tunnel and a tcp tunnel, which is replaced while clients use it. */
export class HandoverWorld {
  readonly postern: PosternProcess;
  readonly dataDir: string;
  readonly apiAddress: string;
  readonly edgePort: number;
  readonly host: string;
  readonly tunnelHost: string;
  readonly tcpPort: number;
  readonly ca: readonly string[];
  readonly agent: AgentHandle;

  private constructor(
    facts: Omit<HandoverWorld, 'pid' | 'api' | 'say' | 'handOver' | 'kill' | 'allDrained' | 'servers' | 'createEdge'>,
  ) {
    this.postern = facts.postern;
    this.dataDir = facts.dataDir;
    this.apiAddress = facts.apiAddress;
    this.edgePort = facts.edgePort;
    this.host = facts.host;
    this.tunnelHost = facts.tunnelHost;
    this.tcpPort = facts.tcpPort;
    this.ca = facts.ca;
    this.agent = facts.agent;
  }

  static async open(test: Cleanup, { databaseUrl, env }: WorldOptions = {}): Promise<HandoverWorld> {
    const dataDir = await tempDir(test);
    const upstream = await webSocketUpstream(test);
    const local = await localHttp(test, (_request, response) => response.end('local'));
    const echo = await tcpEcho(test);
    const started: { postern?: PosternProcess } = {};
    // First: later processes hold the pipes of the one that was started here.
    test.after(async () => {
      for (const pid of started.postern === undefined ? [] : successors(started.postern)) end(pid);
    });
    const postern = startServerProcess(test, dataDir, {
      env: {
        POSTERN_API_KEY: TEST_API_KEY,
        POSTERN_AUTHTOKEN: TOKEN,
        POSTERN_API_RATE_LIMIT: '0',
        POSTERN_SHUTDOWN_TIMEOUT: '6',
        ...(databaseUrl !== undefined && { POSTERN_DATABASE_URL: databaseUrl }),
        ...env,
      },
    });
    started.postern = postern;
    const { addresses } = await postern.ready();
    const { api, edge, tunnel } = addresses as unknown as Record<string, string>;
    const { host } = await createEdge(api ?? '', upstream.address);
    const agent = await connect({
      serverAddr: tunnel ?? '',
      authtoken: TOKEN,
      ca: trustIn(dataDir),
      tunnels: [
        { proto: 'https', addr: local },
        { proto: 'tcp', addr: echo },
      ],
    });
    test.after(() => agent.close());
    const [web, raw] = agent.tunnels.map(({ publicUrl: url }) => new URL(url ?? ''));
    return new HandoverWorld({
      ...{ postern, dataDir, host, agent },
      apiAddress: api ?? '',
      edgePort: Number(edge?.split(':').at(-1)),
      tunnelHost: web?.hostname ?? '',
      tcpPort: Number(raw?.port),
      ca: trustIn(dataDir),
    });
  }

  /** The process that serves now. */
  get pid(): number {
    return this.servers().at(-1) ?? 0;
  }

  servers(): readonly number[] {
    const taken = this.say('another process has taken over').map(({ pid }) => Number(pid));
    return [this.postern.child.pid ?? 0, ...taken];
  }

  /** Another edge, in front of this upstream. */
  createEdge(upstream: string): Promise<CreatedEdge> {
    return createEdge(this.apiAddress, upstream);
  }

  api(): ApiConnection {
    return new ApiConnection(this.apiAddress, TEST_API_KEY);
  }

  /** Log lines with this message, of all processes. */
  say(message: string): readonly Record<string, unknown>[] {
    return this.postern.lines().filter(({ msg }) => msg === message);
  }

  /** SIGUSR2, and waits until the next process serves. */
  async handOver(): Promise<void> {
    const before = this.say('another process has taken over').length;
    process.kill(this.pid, 'SIGUSR2');
    await eventually(
      () => this.say('another process has taken over').length > before,
      () => this.postern.stdout(),
    );
  }

  kill(pid: number): void {
    process.kill(pid, 'SIGKILL');
  }

  async allDrained(): Promise<void> {
    const handedOver = this.say('another process has taken over').length;
    await eventually(
      () => this.say('drained').length >= handedOver,
      () => this.postern.stdout(),
    );
  }
}

export async function eventually(isSo: () => boolean, why: () => string = () => ''): Promise<void> {
  const deadline = performance.now() + 120_000;
  while (!isSo()) {
    assert.ok(performance.now() < deadline, `it did not happen: ${why()}`);
    await sleep(10);
  }
}

async function createEdge(address: string, upstream: string): Promise<CreatedEdge> {
  const api = new ApiConnection(address, TEST_API_KEY);
  const make = async (method: string, path: string, body: object): Promise<string> => {
    const answer = await api.send(method, path, body);
    assert.ok(answer.status < 300, JSON.stringify(answer.body));
    return answer.body.id as string;
  };
  const host = newHost();
  const backend = await make('POST', '/backends/static', { address: upstream });
  const edge = await make('POST', '/edges/https', { hostports: [`${host}:443`] });
  const route = await make('POST', `/edges/https/${edge}/routes`, { match: '/', match_type: 'path_prefix' });
  const routePath = `/edges/https/${edge}/routes/${route}`;
  await make('PUT', `${routePath}/backend`, { backend_id: backend });
  api.close();
  return { host, edge, routePath };
}

async function tcpEcho(test: Cleanup): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    sockets.add(socket.on('error', () => {}));
    socket.pipe(socket);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  test.after(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

function successors(postern: PosternProcess): readonly number[] {
  return postern
    .lines()
    .filter(({ msg }) => msg === 'a new process is ready to take over')
    .map(({ pid }) => Number(pid));
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // The process is gone already.
  }
}
