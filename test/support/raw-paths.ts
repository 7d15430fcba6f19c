import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { UpstreamAuthority } from '../edge/settings/upstream-authority.ts';
import type { Cleanup } from './cleanup.ts';
import type { EdgeWorld } from './edge-world.ts';
import { RawPeer } from './raw-peer.ts';
import { RawUpstream } from './raw-upstream.ts';
import { TunnelWorld } from './tunnel-world.ts';

export type ClientProtocol = 'http/1.1' | 'h2';

/** A host of the edge whose requests get to a raw upstream in one of the ways that there are. */
export interface RawPath {
  readonly name: string;
  readonly host: string;
  readonly upstream: RawUpstream;
}

export interface RawPathsOptions {
  readonly env?: Readonly<Record<string, string>>;
}

/** Every way from a client to an upstream: either protocol behind the edge, directly and through a tunnel. */
export class RawPaths {
  readonly world: TunnelWorld;
  readonly paths: readonly RawPath[];
  readonly #clients = new Set<RawPeer>();

  private constructor(world: TunnelWorld, paths: readonly RawPath[]) {
    this.world = world;
    this.paths = paths;
  }

  static async open(test: Cleanup, { env = {} }: RawPathsOptions = {}): Promise<RawPaths> {
    const authority = await UpstreamAuthority.trusted(test);
    const tls = await authority.issue();
    const upstreams = [
      await RawUpstream.open(test, { protocol: 'http/1.1' }),
      await RawUpstream.open(test, { protocol: 'h2', tls }),
      await RawUpstream.open(test, { protocol: 'http/1.1' }),
      await RawUpstream.open(test, { protocol: 'h2' }),
    ] as const;
    const world = await TunnelWorld.open(test, env);
    // Before the world closes: it would wait for requests under way.
    const [one, two, tunnelled, tunnelled2] = upstreams;
    const paths = [
      { name: 'HTTP/1.1 upstream', upstream: one, host: await staticSite(world.edge, `127.0.0.1:${one.port}`, false) },
      { name: 'HTTP/2 upstream', upstream: two, host: await staticSite(world.edge, `localhost:${two.port}`, true) },
      { name: 'tunnel to HTTP/1.1', upstream: tunnelled, host: await tunnelSite(world, `127.0.0.1:${tunnelled.port}`) },
      {
        name: 'tunnel to HTTP/2',
        upstream: tunnelled2,
        host: await tunnelSite(world, `h2c://127.0.0.1:${tunnelled2.port}`),
      },
    ];
    return new RawPaths(world, paths);
  }

  /** Closes all connections of raw ends. */
  disconnect(): void {
    for (const client of this.#clients) client.destroy();
    this.#clients.clear();
    for (const { upstream } of this.paths) upstream.disconnect();
  }

  /** A client whose handshake is over. */
  async client(host: string, protocol: ClientProtocol): Promise<RawPeer> {
    const { edge } = this.world;
    const transport: Socket = connect({ host: '127.0.0.1', port: edge.port, noDelay: true, allowHalfOpen: true });
    const socket = connectTls({
      socket: transport,
      servername: host,
      ca: [...edge.ca],
      ALPNProtocols: [protocol],
    });
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    socket
      .once('secureConnect', resolve)
      .once('error', reject)
      .once('close', () => reject(new Error('closed early')));
    await promise;
    const client = new RawPeer(socket, transport, protocol === 'h2' ? 'client' : null);
    this.#clients.add(client);
    socket.once('close', () => this.#clients.delete(client));
    return client;
  }
}

async function staticSite(edge: EdgeWorld, address: string, tls: boolean): Promise<string> {
  const site = await edge.site(await edge.staticBackend(address, tls));
  await edge.api('PUT', `${site.routePath}/compression`, {});
  return site.host;
}

async function tunnelSite(world: TunnelWorld, addr: string): Promise<string> {
  const agent = await world.agent([{ proto: 'https', addr, modules: { compression: {} } }]);
  return new URL(agent.url ?? '').hostname;
}
