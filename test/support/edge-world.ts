import { globSync, readFileSync } from 'node:fs';
import { type ClientHttp2Session, type ClientSessionOptions, connect as connectHttp2 } from 'node:http2';
import { Agent, type RequestOptions, request as requestHttps } from 'node:https';
import { join } from 'node:path';
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls';
import type { Cleanup } from './cleanup.ts';
import { TestWorld, type WorldOptions } from './test-world.ts';

/** A response as node:https received it. */
export interface EdgeAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
  readonly text: string;
}

export interface AskOptions extends RequestOptions {
  readonly body?: string | Buffer;
}

export interface Site {
  readonly host: string;
  readonly edgeId: string;
  readonly routeId: string;
  /** Paths of the edge and of the route in the API. */
  readonly edgePath: string;
  readonly routePath: string;
}

let siteCount = 0;

/** The whole server with an edge on port 0, trusted certificates, and clients that find every host there. */
export class EdgeWorld {
  readonly world: TestWorld;
  readonly port: number;
  /** Certificates of the authorities that issued the edge's own. */
  readonly ca: readonly string[];
  readonly #sockets = new Set<TLSSocket>();
  readonly #sessions = new Set<ClientHttp2Session>();

  private constructor(world: TestWorld, ca: readonly string[], port = world.server.addresses.edge?.port ?? 0) {
    this.world = world;
    this.port = port;
    this.ca = ca;
  }

  /** A server whose edge the test has assembled itself. */
  static over(world: TestWorld, port: number): EdgeWorld {
    return new EdgeWorld(world, trustIn(world.dataDir), port);
  }

  static async open(
    test: Cleanup,
    env: Readonly<Record<string, string>> = {},
    options: Omit<WorldOptions, 'env'> = {},
  ): Promise<EdgeWorld> {
    const holder: { world?: EdgeWorld } = {};
    // Before the server's own hook: it would wait for clients that are still connected.
    test.after(() => {
      holder.world?.disconnect();
      return Promise.resolve();
    });
    const world = await TestWorld.open(test, {
      ...options,
      env: {
        POSTERN_ROLES: 'api,edge',
        POSTERN_EDGE_LISTEN: '127.0.0.1:0',
        POSTERN_EDGE_HTTP_LISTEN: '127.0.0.1:0',
        POSTERN_API_RATE_LIMIT: '0',
        POSTERN_SHUTDOWN_TIMEOUT: '1',
        ...env,
      },
    });
    const ca = trustIn(world.dataDir);
    const opened = new EdgeWorld(world, ca);
    holder.world = opened;
    return opened;
  }

  /** Calls the API, and fails unless it succeeds. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers field by field
  async api(method: string, path: string, body?: unknown): Promise<any> {
    const answer = await this.world.api(method, path, body);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.body;
  }

  async edge(...hosts: readonly string[]): Promise<string> {
    const { id } = await this.api('POST', '/edges/https', { hostports: hosts.map((host) => `${host}:443`) });
    return id;
  }

  async route(edgeId: string, match: string, matchType = 'path_prefix'): Promise<string> {
    const { id } = await this.api('POST', `/edges/https/${edgeId}/routes`, { match, match_type: matchType });
    return `/edges/https/${edgeId}/routes/${id}`;
  }

  async staticBackend(address: string, tls = false): Promise<string> {
    const { id } = await this.api('POST', '/backends/static', { address, tls: { enabled: tls } });
    return id;
  }

  async httpResponse(body: string, fields: Readonly<Record<string, unknown>> = {}): Promise<string> {
    const { id } = await this.api('POST', '/backends/http_response', { body, ...fields });
    return id;
  }

  /** An edge with one catch-all route; the test chooses its backend. */
  async site(backendId?: string, host = newHost()): Promise<Site> {
    const edgeId = await this.edge(host);
    const routePath = await this.route(edgeId, '/');
    if (backendId !== undefined) await this.api('PUT', `${routePath}/backend`, { backend_id: backendId });
    const routeId = routePath.slice(routePath.lastIndexOf('/') + 1);
    return { host, edgeId, routeId, edgePath: `/edges/https/${edgeId}`, routePath };
  }

  /** A policy with one rule. */
  async ipPolicy(action: 'allow' | 'deny', cidr: string): Promise<{ policyId: string; ruleId: string }> {
    const { id: policyId } = await this.api('POST', '/ip_policies', {});
    const { id: ruleId } = await this.api('POST', '/ip_policy_rules', { ip_policy_id: policyId, action, cidr });
    return { policyId, ruleId };
  }

  /** Text of the metrics page. */
  async metrics(): Promise<string> {
    return (await this.world.api('GET', '/metrics')).text;
  }

  tlsOptions(host: string): ConnectionOptions {
    return { host: '127.0.0.1', port: this.port, servername: host, ca: [...this.ca] };
  }

  /** A socket after its handshake. */
  connect(host: string, options: ConnectionOptions = {}): Promise<TLSSocket> {
    return new Promise((resolve, reject) => {
      const socket = connectTls({ ALPNProtocols: ['http/1.1'], ...this.tlsOptions(host), ...options });
      this.#sockets.add(socket);
      socket.once('close', () => {
        this.#sockets.delete(socket);
        reject(new Error('closed before the handshake ended'));
      });
      socket.once('secureConnect', () => {
        socket.off('error', reject);
        socket.on('error', () => {});
        resolve(socket);
      });
      socket.once('error', reject);
    });
  }

  http2(host: string, options: ClientSessionOptions & ConnectionOptions = {}): Promise<ClientHttp2Session> {
    return new Promise((resolve, reject) => {
      const tls = { ALPNProtocols: ['h2'], ...this.tlsOptions(host), ...options };
      const session = connectHttp2(`https://${host}`, { ...options, createConnection: () => connectTls(tls) });
      this.#sessions.add(session);
      session.once('close', () => {
        this.#sessions.delete(session);
        // Without this, a test whose session the edge closed immediately (an idle timeout of a second on a busy
        // machine) hangs.
        reject(new Error('closed before its settings came'));
      });
      session.once('error', reject);
      // Extended CONNECT may be used once the server's settings have arrived.
      session.once('remoteSettings', () => {
        session.off('error', reject);
        session.on('error', () => {});
        resolve(session);
      });
    });
  }

  /** One node:https request on its own connection, unless an agent is given. */
  ask(host: string, path = '/', { body, ...options }: AskOptions = {}): Promise<EdgeAnswer> {
    return new Promise((resolve, reject) => {
      const sent = requestHttps(
        {
          agent: false,
          ...this.tlsOptions(host),
          path,
          ...options,
          headers: { host, ...(options.headers as Readonly<Record<string, string>>) },
        } as RequestOptions,
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('error', reject);
          response.on('end', () => {
            const whole = Buffer.concat(chunks);
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              body: whole,
              text: whole.toString(),
            });
          });
        },
      );
      sent.on('error', reject);
      sent.end(body);
    });
  }

  async status(host: string, path = '/', options: AskOptions = {}): Promise<number> {
    return (await this.ask(host, path, options)).status;
  }

  /** An agent that keeps its connections to the edge. */
  agent(options: ConnectionOptions = {}): Agent {
    return new Agent({ keepAlive: true, maxSockets: 1, ...(options as object) });
  }

  disconnect(): void {
    for (const socket of this.#sockets) socket.destroy();
    for (const session of this.#sessions) session.destroy();
  }
}

/** The trust of a client that trusts the internal authorities of a data directory. */
export function trustIn(dataDir: string): readonly string[] {
  const files = globSync('internal-ca/*/certificate.pem', { cwd: dataDir });
  return files.map((file) => readFileSync(join(dataDir, file), 'utf8'));
}

/** A host that no other test of the process uses. */
export function newHost(): string {
  siteCount += 1;
  return `site-${siteCount}.localhost`;
}
