import assert from 'node:assert/strict';
import type { ClientHttp2Session } from 'node:http2';
import type { Agent } from 'node:https';
import { WebSocket, WebSocketServer } from 'ws';
import { connect } from '../../src/tunnel/agent/index.ts';
import type { Cleanup } from '../support/cleanup.ts';
import { newHost } from '../support/edge-world.ts';
import { LoginWorld } from '../support/login-world.ts';
import { PEOPLE, type Row, RULINGS, type Ruling, rowsOf } from './decision-table.ts';

export type Transport = 'http1' | 'http2' | 'websocket' | 'tunnel';
export const TRANSPORTS: readonly Transport[] = ['http1', 'http2', 'websocket', 'tunnel'];

const TOKEN = 'test-token-0123456789abcdefghijklmnopqrstuv';

interface Answer {
  readonly status: number;
  readonly errorCode: string | undefined;
}

/** One edge with a pair of routes per rule set, for a service and for a tunnel, and everybody logged in. */
export class EdgeTable {
  readonly world: LoginWorld;
  readonly host = newHost();
  readonly #cookies = new Map<string, string>();
  readonly #routes = new Map<string, string>();
  readonly #agent: Agent;
  #http2: ClientHttp2Session | null = null;

  private constructor(world: LoginWorld) {
    this.world = world;
    this.#agent = world.edge.agent();
  }

  static async open(test: Cleanup): Promise<EdgeTable> {
    const users = Object.entries(PEOPLE).map(([id, { claims, ...about }]) => ({ id, claims: { ...claims, ...about } }));
    const world = await LoginWorld.open(test, {
      provider: { users },
      env: {
        POSTERN_ROLES: 'api,edge,gateway',
        POSTERN_TUNNEL_LISTEN: '127.0.0.1:0',
        POSTERN_AUTHTOKEN: TOKEN,
        POSTERN_LOG_LEVEL: 'info',
      },
    });
    const sockets = new WebSocketServer({ server: world.upstream });
    sockets.on('connection', (socket) => socket.on('message', (data) => socket.send(data)));
    const table = new EdgeTable(world);
    await table.#furnish(test);
    return table;
  }

  async #furnish(test: Cleanup): Promise<void> {
    const { world, host } = this;
    const { edge } = world;
    const agent = await connect({
      serverAddr: `127.0.0.1:${edge.world.server.addresses.tunnel?.port}`,
      authtoken: TOKEN,
      ca: edge.ca,
      tunnels: [{ labels: { app: 'echo' }, addr: world.upstreamAddress }],
    });
    test.after(() => {
      this.#agent.destroy();
      return agent.close();
    });
    const direct = await edge.staticBackend(world.upstreamAddress);
    const { id: tunnels } = await edge.api('POST', '/backends/tunnel_group', { labels: { app: 'echo' } });
    const edgeId = await edge.edge(host);
    world.register(host);
    for (const [at, { rules }] of RULINGS.entries()) {
      for (const [kind, backendId] of [
        ['direct', direct],
        ['tunnel', tunnels],
      ] as const) {
        const match = pathOf(at, kind);
        const { id } = await edge.api('POST', `/edges/https/${edgeId}/routes`, {
          match_type: 'exact_path',
          match,
          oidc: world.module(),
          access: rules,
          backend: { backend_id: backendId },
        });
        this.#routes.set(match, `/edges/https/${edgeId}/routes/${id}/access`);
      }
    }
    for (const person of Object.keys(PEOPLE)) await this.#logIn(person);
  }

  async #logIn(person: string): Promise<void> {
    const browser = this.world.browser();
    const page = await browser.logIn(this.host, pathOf(0, 'direct'), person);
    assert.equal(page.headers['postern-error-code'], 'ERR_POSTERN_ACCESS_DENIED', `${person}: ${page.text}`);
    this.#cookies.set(person, browser.jar.header(this.world.origin(this.host)) ?? '');
  }

  async enforce(isEnforced: boolean): Promise<void> {
    for (const [at, { rules }] of RULINGS.entries()) {
      for (const kind of ['direct', 'tunnel'] as const) {
        const path = this.#routes.get(pathOf(at, kind)) ?? '';
        await this.world.edge.api('PUT', path, { ...rules, enforce: isEnforced });
      }
    }
  }

  /** Fails with the whole row unless the edge decides as the table says. */
  async check(
    at: number,
    row: Row,
    transport: Transport,
    { isEnforced }: { readonly isEnforced: boolean },
  ): Promise<void> {
    const answer = await this.#ask(at, row.person, transport);
    const passes = row.allowed || !isEnforced;
    const passed = transport === 'websocket' ? 101 : 200;
    const expected: Answer = passes
      ? { status: passed, errorCode: undefined }
      : { status: 403, errorCode: 'ERR_POSTERN_ACCESS_DENIED' };
    const told = `${transport}, ${row.person}, ${JSON.stringify((RULINGS[at] as Ruling).rules)}`;
    assert.deepEqual({ told, ...answer }, { told, ...expected });
  }

  async #ask(at: number, person: string, transport: Transport): Promise<Answer> {
    const path = pathOf(at, transport === 'tunnel' ? 'tunnel' : 'direct');
    const cookie = this.#cookies.get(person) ?? '';
    if (transport === 'http2') return this.#askHttp2(path, cookie);
    if (transport === 'websocket') return this.#askWebSocket(path, cookie);
    const headers = { host: this.#authority, cookie };
    const { status, headers: answered } = await this.world.edge.ask(this.host, path, { headers, agent: this.#agent });
    return { status, errorCode: answered['postern-error-code'] as string | undefined };
  }

  get #authority(): string {
    return new URL(this.world.origin(this.host)).host;
  }

  async #askHttp2(path: string, cookie: string): Promise<Answer> {
    this.#http2 ??= await this.world.edge.http2(this.host);
    const stream = this.#http2.request({ ':path': path, ':authority': this.#authority, cookie });
    return new Promise((resolve, reject) => {
      stream.once('error', reject);
      stream.once('response', (headers) => {
        stream.resume();
        stream.once('end', () =>
          resolve({
            status: headers[':status'] ?? 0,
            errorCode: headers['postern-error-code'] as string | undefined,
          }),
        );
      });
    });
  }

  #askWebSocket(path: string, cookie: string): Promise<Answer> {
    const socket = new WebSocket(`wss://127.0.0.1:${this.world.edge.port}${path}`, {
      servername: this.host,
      rejectUnauthorized: false,
      headers: { host: this.#authority, cookie },
    } as ConstructorParameters<typeof WebSocket>[2]);
    return new Promise((resolve, reject) => {
      socket.once('error', reject);
      socket.once('open', () => {
        socket.terminate();
        resolve({ status: 101, errorCode: undefined });
      });
      socket.once('unexpected-response', (request, response) => {
        response.resume();
        request.destroy();
        resolve({
          status: response.statusCode ?? 0,
          errorCode: response.headers['postern-error-code'] as string | undefined,
        });
      });
    });
  }
}

function pathOf(at: number, kind: 'direct' | 'tunnel'): string {
  return `/${kind}-${at}`;
}

/** Every row of the table. */
export function everyRow(): readonly { readonly at: number; readonly row: Row; readonly position: number }[] {
  return RULINGS.flatMap((ruling, at) => rowsOf(ruling).map((row, position) => ({ at, row, position })));
}
