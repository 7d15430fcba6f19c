import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import type { Cleanup } from '../../support/cleanup.ts';
import { tempDir } from '../../support/temp-dir.ts';

export interface FakeContainer {
  readonly id: string;
  readonly name: string;
  readonly createdAtMs: number;
  labels: Record<string, string>;
  /** Published on loopback. */
  hostPort: number | null;
  health: string;
  status: string;
  networkMode: string;
  networks: Record<string, unknown>;
}

type Answer = (response: ServerResponse, path: string) => boolean;

/** The API of Docker on a socket of the test, as far as the agent may use it: GET of three paths. */
export class FakeEngine {
  readonly socket: string;
  readonly containers = new Map<string, FakeContainer>();
  /** Methods and paths of all requests. */
  readonly asked: string[] = [];
  /** Takes over an answer. */
  answer: Answer | null = null;
  readonly #server: Server;
  readonly #streams = new Set<ServerResponse>();
  readonly #sockets = new Set<Socket>();
  #created = Date.parse('2026-01-01T00:00:00Z');

  private constructor(socket: string) {
    this.socket = socket;
    this.#server = createServer((request, response) => this.#onRequest(request, response));
    this.#server.on('connection', (each) => {
      this.#sockets.add(each);
      each.on('close', () => this.#sockets.delete(each));
    });
  }

  static async open(test: Cleanup): Promise<FakeEngine> {
    const engine = new FakeEngine(join(await tempDir(test), 'engine.sock'));
    await engine.start();
    test.after(() => engine.stop());
    return engine;
  }

  async start(): Promise<void> {
    this.#server.listen(this.socket);
    await once(this.#server, 'listening');
  }

  /** The socket disappears, and with it all connections. */
  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.cut();
    await closed;
  }

  /** Cuts all connections, the event streams too. */
  cut(): void {
    for (const each of this.#sockets) each.destroy();
  }

  get streams(): number {
    return this.#streams.size;
  }

  run(name: string, labels: Record<string, string>, more: Partial<FakeContainer> = {}): FakeContainer {
    this.#created += 1_000;
    const container = {
      ...{ id: randomBytes(32).toString('hex'), name, createdAtMs: this.#created, labels, hostPort: null },
      ...{ health: '', status: 'running', networkMode: 'bridge', networks: {}, ...more },
    };
    this.containers.set(container.id, container);
    this.tell('start', container);
    return container;
  }

  end(container: FakeContainer): void {
    this.containers.delete(container.id);
    this.tell('die', container);
  }

  tell(action: string, { id }: Pick<FakeContainer, 'id'>): void {
    this.say(`${JSON.stringify({ Type: 'container', Action: action, Actor: { ID: id, Attributes: {} } })}\n`);
  }

  /** Raw bytes on all event streams. */
  say(text: string): void {
    for (const stream of this.#streams) stream.write(text);
  }

  #onRequest(request: IncomingMessage, response: ServerResponse): void {
    const path = request.url ?? '';
    this.asked.push(`${request.method} ${path}`);
    if (this.answer?.(response, path) === true) return;
    if (path === '/events') {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.flushHeaders();
      this.#streams.add(response);
      response.on('close', () => this.#streams.delete(response));
      return;
    }
    const [, id] = /^\/containers\/([0-9a-f]+)\/json$/.exec(path) ?? [];
    const found = id === undefined ? undefined : this.containers.get(id);
    if (path === '/containers/json') sendJson(response, [...this.containers.values()].map(listed));
    else if (found !== undefined) sendJson(response, inspected(found));
    else {
      response.statusCode = 404;
      response.end('{"message":"no such container"}');
    }
  }
}

function listed({ id, name, labels, createdAtMs, networks, status, health, hostPort }: FakeContainer): object {
  return {
    Id: id,
    Names: [`/${name}`],
    Labels: labels,
    State: status,
    Status: `Up 5 seconds${health === '' ? '' : ` (${health})`}`,
    Created: Math.floor(createdAtMs / 1000),
    Ports: hostPort === null ? [] : [{ IP: '127.0.0.1', PrivatePort: 80, PublicPort: hostPort, Type: 'tcp' }],
    NetworkSettings: { Networks: networks },
  };
}

function inspected(container: FakeContainer): object {
  const { id, name, labels, createdAtMs, health, status, networkMode, networks, hostPort } = container;
  return {
    Id: id,
    Name: `/${name}`,
    Created: new Date(createdAtMs).toISOString(),
    State: { Status: status, Running: status === 'running', ...(health !== '' && { Health: { Status: health } }) },
    Config: { Labels: labels, ExposedPorts: { '80/tcp': {} }, Env: ['PLANTED_SECRET=planted-secret-value'] },
    HostConfig: { NetworkMode: networkMode },
    NetworkSettings: {
      Networks: networks,
      Ports: hostPort === null ? {} : { '80/tcp': [{ HostIp: '127.0.0.1', HostPort: String(hostPort) }] },
    },
  };
}

function sendJson(response: ServerResponse, value: unknown): void {
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(value));
}
