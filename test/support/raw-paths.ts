import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { UpstreamAuthority } from '../edge/settings/upstream-authority.ts';
import type { Cleanup } from './cleanup.ts';
import type { EdgeWorld } from './edge-world.ts';
import { RawPeer } from './raw-peer.ts';
import { RawUpstream } from './raw-upstream.ts';
import { TunnelWorld } from './tunnel-world.ts';

export type ClientProtocol = 'http/1.1' | 'h2';

/** A host of the edge whose requests reach a raw upstream by one of the possible paths. */
export interface RawPath {
  readonly name: string;
  readonly host: string;
  readonly upstream: RawUpstream;
}

type Upstreams = readonly [RawUpstream, RawUpstream, RawUpstream, RawUpstream];

export interface RawPathsOptions {
  /** Number of upstreams of each kind. */
  readonly copies?: number;
  readonly env?: Readonly<Record<string, string>>;
}

/** Every path from a client to an upstream: either protocol behind the edge, directly and through a tunnel. */
export class RawPaths {
  readonly world: TunnelWorld;
  readonly paths: readonly RawPath[];
  readonly #clients = new Set<RawPeer>();
  readonly #tickets = new Map<string, Buffer>();

  private constructor(world: TunnelWorld, paths: readonly RawPath[]) {
    this.world = world;
    this.paths = paths;
  }

  static async open(test: Cleanup, { env = {}, copies = 1 }: RawPathsOptions = {}): Promise<RawPaths> {
    const authority = await UpstreamAuthority.trusted(test);
    const tls = await authority.issue();
    const sets: Upstreams[] = [];
    // Before the world, so that they close first: it would wait for requests in progress.
    for (let at = 0; at < copies; at += 1) {
      sets.push([
        await RawUpstream.open(test, { protocol: 'http/1.1' }),
        await RawUpstream.open(test, { protocol: 'h2', tls }),
        await RawUpstream.open(test, { protocol: 'http/1.1' }),
        await RawUpstream.open(test, { protocol: 'h2' }),
      ]);
    }
    const world = await TunnelWorld.open(test, env);
    const paths: RawPath[] = [];
    for (const set of sets) paths.push(...(await pathsTo(world, set)));
    return new RawPaths(world, paths);
  }

  /** Closes all connections of raw ends. */
  disconnect(): void {
    for (const client of this.#clients) client.destroy();
    this.#clients.clear();
    for (const { upstream } of this.paths) upstream.disconnect();
  }

  /** A client after its handshake. */
  async client(host: string, protocol: ClientProtocol): Promise<RawPeer> {
    const { edge } = this.world;
    const transport: Socket = connect({ host: '127.0.0.1', port: edge.port, noDelay: true, allowHalfOpen: true });
    const socket = connectTls({
      socket: transport,
      servername: host,
      ca: [...edge.ca],
      ALPNProtocols: [protocol],
      session: this.#tickets.get(host),
    });
    // A full handshake would cost more than most of what follows it.
    socket.once('session', (ticket) => this.#tickets.set(host, ticket));
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

async function pathsTo(world: TunnelWorld, [one, two, far, farTwo]: Upstreams): Promise<readonly RawPath[]> {
  const { edge } = world;
  return [
    { name: 'HTTP/1.1 upstream', upstream: one, host: await staticSite(edge, `127.0.0.1:${one.port}`, false) },
    { name: 'HTTP/2 upstream', upstream: two, host: await staticSite(edge, `localhost:${two.port}`, true) },
    { name: 'tunnel to HTTP/1.1', upstream: far, host: await tunnelSite(world, `127.0.0.1:${far.port}`) },
    { name: 'tunnel to HTTP/2', upstream: farTwo, host: await tunnelSite(world, `h2c://127.0.0.1:${farTwo.port}`) },
  ];
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
