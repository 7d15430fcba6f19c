import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { UpstreamAuthority } from '../edge/settings/upstream-authority.ts';
import type { Cleanup } from './cleanup.ts';
import type { EdgeWorld } from './edge-world.ts';
import { RawPeer } from './raw-peer.ts';
import { RawUpstream } from './raw-upstream.ts';
import { TunnelWorld } from './tunnel-world.ts';
import { twoNodes } from './two-nodes.ts';

export type ClientProtocol = 'http/1.1' | 'h2';

/** A host of the edge whose requests reach a raw upstream by one of the possible paths. */
export interface RawPath {
  readonly name: string;
  readonly host: string;
  readonly upstream: RawUpstream;
  /** The node that visitors of this path use. */
  readonly edge: EdgeWorld;
}

type Upstreams = readonly RawUpstream[];

export interface RawPathsOptions {
  /** Number of upstreams of each kind. */
  readonly copies?: number;
  readonly env?: Readonly<Record<string, string>>;
  /** Also two paths through a second node, to agents that are connected to the first one. Needs PostgreSQL. */
  readonly hasHop?: boolean;
}

/**
 * Every path from a client to an upstream: either protocol behind the edge, directly, through a tunnel, and over a hop.
 */
export class RawPaths {
  readonly world: TunnelWorld;
  /** All nodes. */
  readonly worlds: readonly TunnelWorld[];
  readonly paths: readonly RawPath[];
  readonly #clients = new Set<RawPeer>();
  readonly #tickets = new Map<string, Buffer>();

  private constructor(worlds: readonly [TunnelWorld, ...TunnelWorld[]], paths: readonly RawPath[]) {
    [this.world] = worlds;
    this.worlds = worlds;
    this.paths = paths;
  }

  static async open(test: Cleanup, { env = {}, copies = 1, hasHop = false }: RawPathsOptions = {}): Promise<RawPaths> {
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
        ...(hasHop ? [await RawUpstream.open(test, { protocol: 'http/1.1' })] : []),
        ...(hasHop ? [await RawUpstream.open(test, { protocol: 'h2' })] : []),
      ]);
    }
    const worlds = hasHop ? await twoNodes(test, env) : ([await TunnelWorld.open(test, env)] as const);
    const paths: RawPath[] = [];
    for (const set of sets) paths.push(...(await pathsTo(worlds, set)));
    return new RawPaths(worlds, paths);
  }

  /** Closes all connections of raw ends. */
  disconnect(): void {
    for (const client of this.#clients) client.destroy();
    this.#clients.clear();
    for (const { upstream } of this.paths) upstream.disconnect();
  }

  /** A client after its handshake. */
  async client({ host, edge }: Pick<RawPath, 'host' | 'edge'>, protocol: ClientProtocol): Promise<RawPeer> {
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

async function pathsTo(
  [world, visited]: readonly [TunnelWorld, TunnelWorld?],
  [one, two, far, farTwo, hop, hopTwo]: Upstreams,
): Promise<readonly RawPath[]> {
  const { edge } = world;
  const paths: RawPath[] = [];
  const add = (name: string, upstream: RawUpstream, host: string, at = edge): void =>
    void paths.push({ name, upstream, host, edge: at });
  if (one !== undefined) add('HTTP/1.1 upstream', one, await staticSite(edge, `127.0.0.1:${one.port}`, false));
  if (two !== undefined) add('HTTP/2 upstream', two, await staticSite(edge, `localhost:${two.port}`, true));
  if (far !== undefined) add('tunnel to HTTP/1.1', far, await tunnelSite(world, `127.0.0.1:${far.port}`));
  if (farTwo !== undefined) add('tunnel to HTTP/2', farTwo, await tunnelSite(world, `h2c://127.0.0.1:${farTwo.port}`));
  if (hop === undefined || hopTwo === undefined || visited === undefined) return paths;
  add('hop to HTTP/1.1', hop, await tunnelSite(world, `127.0.0.1:${hop.port}`), visited.edge);
  add('hop to HTTP/2', hopTwo, await tunnelSite(world, `h2c://127.0.0.1:${hopTwo.port}`), visited.edge);
  return paths;
}

async function staticSite(edge: EdgeWorld, address: string, tls: boolean): Promise<string> {
  const site = await edge.site(await edge.staticBackend(address, tls));
  await edge.api('PUT', `${site.routePath}/compression`, {});
  return site.host;
}

/** One connection, so that the agent is connected to this node only. */
async function tunnelSite(world: TunnelWorld, addr: string): Promise<string> {
  const agent = await world.agent([{ proto: 'https', addr, modules: { compression: {} } }], { connections: 1 });
  return new URL(agent.publicUrl ?? '').hostname;
}
