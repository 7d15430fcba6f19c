import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createSecureServer } from 'node:http2';
import type { Cleanup } from '../../support/cleanup.ts';
import { until } from '../../support/cluster.ts';
import type { EdgeWorld } from '../../support/edge-world.ts';
import { listenOn } from '../../support/listen-on.ts';
import type { TunnelWorld } from '../../support/tunnel-world.ts';
import { twoNodes } from '../../support/two-nodes.ts';
import { UpstreamAuthority } from '../settings/upstream-authority.ts';

export interface ModuleWay {
  readonly name: string;
  readonly host: string;
  readonly routePath: string;
  /** The node that visitors use. */
  readonly edge: EdgeWorld;
}

/** What the upstream got. */
export interface Got {
  readonly url: string;
  readonly host: string;
  readonly headers: IncomingMessage['headers'];
  /** All lines of a header. */
  lines(name: string): readonly string[];
  trailers: IncomingMessage['trailers'];
}

/**
 * A site whose requests reach the same service directly over HTTP/1.1 and HTTP/2, through a tunnel, and over a hop
 * between nodes.
 */
export class ModuleWays {
  readonly ways: readonly ModuleWay[];
  readonly edge: EdgeWorld;
  /** The node that other nodes' visitors reach over a hop. */
  readonly world: TunnelWorld;
  got: Got[] = [];
  /** The service without TLS. */
  serviceAddress = '';
  respond: (request: IncomingMessage, response: ServerResponse) => void = (_request, response) => response.end('ok');

  private constructor(worlds: readonly [TunnelWorld, TunnelWorld]) {
    [this.world] = worlds;
    this.edge = worlds[0].edge;
    this.ways = [];
  }

  static async open(test: Cleanup, env: Readonly<Record<string, string>> = {}): Promise<ModuleWays> {
    const { keyPem: key, certificatePem: cert } = await (await UpstreamAuthority.trusted(test)).issue();
    const holder: { ways?: ModuleWays } = {};
    const serve = (request: IncomingMessage, response: ServerResponse): void => {
      request.on('error', () => {});
      response.on('error', () => {});
      request.resume().on('end', () => {
        holder.ways?.got.push(gotFrom(request));
        holder.ways?.respond(request, response);
      });
    };
    const [one, two] = [createServer(serve), createSecureServer({ key, cert }, serve as never)];
    const [onePort, twoPort] = [await listenOn(test, one), await listenOn(test, two)];
    const worlds = await twoNodes(test, env);
    const opened = new ModuleWays(worlds);
    holder.ways = opened;
    await opened.#addWays(worlds[1].edge, onePort, twoPort);
    return opened;
  }

  async #addWays(visited: EdgeWorld, onePort: number, twoPort: number): Promise<void> {
    const { edge, world } = this;
    this.serviceAddress = `127.0.0.1:${onePort}`;
    await world.agent([{ labels: { way: 'tunnel' }, addr: `127.0.0.1:${onePort}` }], { connections: 1 });
    const group = await edge.api('POST', '/backends/tunnel_group', { labels: { way: 'tunnel' } });
    const ways = this.ways as ModuleWay[];
    for (const [name, backend] of [
      ['HTTP/1.1', await edge.staticBackend(`127.0.0.1:${onePort}`)],
      ['HTTP/2', await edge.staticBackend(`localhost:${twoPort}`, true)],
      ['a tunnel', group.id as string],
    ] as const) {
      const { host, routePath } = await edge.site(backend);
      ways.push({ name, host, routePath, edge });
      if (name === 'a tunnel') ways.push({ name: 'a hop', host, routePath, edge: visited });
    }
  }

  /** Sets a module on every way, and waits until all nodes serve it. */
  async put(module: string, body: object): Promise<void> {
    for (const routePath of this.#routePaths()) await this.edge.api('PUT', `${routePath}/${module}`, body);
    await this.#served(module);
  }

  async delete(module: string): Promise<void> {
    for (const routePath of this.#routePaths()) await this.edge.api('DELETE', `${routePath}/${module}`);
    await this.#served(module);
  }

  #routePaths(): ReadonlySet<string> {
    return new Set(this.ways.map(({ routePath }) => routePath));
  }

  /** A node serves what its API shows. */
  async #served(module: string): Promise<void> {
    const other = this.ways.find(({ edge }) => edge !== this.edge);
    if (other === undefined) return;
    const shown = async ({ world }: EdgeWorld): Promise<string> => {
      const { status, body } = await world.api('GET', `${other.routePath}/${module}`);
      return status === 404 ? '404' : JSON.stringify(body).replaceAll(world.baseUrl, '');
    };
    const wanted = await shown(this.edge);
    await until(`the second node has ${module}`, async () => (await shown(other.edge)) === wanted);
  }
}

function gotFrom(request: IncomingMessage): Got {
  const lines: readonly string[] = request.rawHeaders;
  return {
    url: request.url ?? '',
    host: String(request.headers[':authority'] ?? request.headers.host),
    headers: request.headers,
    lines: (name) => lines.filter((_, at) => at % 2 === 1 && lines[at - 1]?.toLowerCase() === name),
    trailers: request.trailers,
  };
}
