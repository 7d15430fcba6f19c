import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createSecureServer } from 'node:http2';
import type { Duplex } from 'node:stream';
import { modules } from '../../../src/modules/registry.ts';
import type { Cleanup } from '../../support/cleanup.ts';
import type { EdgeWorld } from '../../support/edge-world.ts';
import { listenOn } from '../../support/listen-on.ts';
import { TunnelWorld } from '../../support/tunnel-world.ts';
import { UpstreamAuthority } from '../settings/upstream-authority.ts';
import { HookedModules } from './hooked-modules.ts';

export interface Way {
  readonly name: string;
  readonly host: string;
}

export type Serve = (request: IncomingMessage, response: ServerResponse) => void;

/** The whole server with the test's own modules, and one upstream reached over HTTP/1.1, HTTP/2 and a tunnel. */
export class HookedWorld {
  readonly edge: EdgeWorld;
  readonly hooks: HookedModules;
  readonly ways: readonly Way[];
  /** Routes of the paths, in the API. */
  readonly routePaths: readonly string[];
  readonly #upstream: { serve: Serve; upgrade: (request: IncomingMessage, socket: Duplex) => void };

  private constructor(parts: Pick<HookedWorld, 'edge' | 'hooks' | 'ways' | 'routePaths'>, upstream: { serve: Serve }) {
    this.edge = parts.edge;
    this.hooks = parts.hooks;
    this.ways = parts.ways;
    this.routePaths = parts.routePaths;
    this.#upstream = upstream as never;
  }

  static async open(test: Cleanup): Promise<HookedWorld> {
    const upstream = {
      serve: ((_request, response) => response.end()) as Serve,
      upgrade: (_request: IncomingMessage, socket: Duplex): void => void socket.destroy(),
    };
    const { keyPem: key, certificatePem: cert } = await (await UpstreamAuthority.trusted(test)).issue();
    const serve: Serve = (request, response) => {
      request.on('error', () => {});
      response.on('error', () => {});
      upstream.serve(request, response);
    };
    const one = createServer(serve);
    one.on('upgrade', (request, socket: Duplex) => upstream.upgrade(request, socket));
    // Otherwise the server asks for the body by itself, before the test has looked.
    one.on('checkContinue', serve);
    const two = createSecureServer({ key, cert }, serve as never);
    const [onePort, twoPort] = [await listenOn(test, one), await listenOn(test, two)];
    const hooks = new HookedModules();
    const world = await TunnelWorld.open(test, {}, { modules: [...modules, ...hooks.modules] });
    await world.agent([{ labels: { way: 'tunnel' }, addr: `127.0.0.1:${onePort}` }]);
    const group = await world.edge.api('POST', '/backends/tunnel_group', { labels: { way: 'tunnel' } });
    const ways: Way[] = [];
    const routePaths: string[] = [];
    for (const [name, backend] of [
      ['HTTP/1.1', await world.edge.staticBackend(`127.0.0.1:${onePort}`)],
      ['HTTP/2', await world.edge.staticBackend(`localhost:${twoPort}`, true)],
      ['a tunnel', group.id],
    ] as const) {
      const { host, routePath } = await world.edge.site(backend);
      for (const module of ['first', 'second']) await world.edge.api('PUT', `${routePath}/${module}`, {});
      ways.push({ name, host });
      routePaths.push(routePath);
    }
    return new HookedWorld({ edge: world.edge, hooks, ways, routePaths }, upstream);
  }

  set serve(serve: Serve) {
    this.#upstream.serve = serve;
  }

  set upgrade(upgrade: (request: IncomingMessage, socket: Duplex) => void) {
    this.#upstream.upgrade = upgrade;
  }
}
