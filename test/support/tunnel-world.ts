import { randomBytes } from 'node:crypto';
import { type AgentHandle, type AgentOptions, connect, type TunnelSpec } from '../../src/tunnel/agent/index.ts';
import type { Cleanup } from './cleanup.ts';
import { EdgeWorld } from './edge-world.ts';
import type { WorldOptions } from './test-world.ts';

export interface AgentFields extends Partial<Omit<AgentOptions, 'tunnels'>> {}

/** The whole server with edge and gateway on port 0, and agents of this process. */
export class TunnelWorld {
  readonly edge: EdgeWorld;
  /** Token of the credential that the world was created with. */
  readonly token: string;
  readonly #agents = new Set<AgentHandle>();

  private constructor(edge: EdgeWorld, token: string) {
    this.edge = edge;
    this.token = token;
  }

  static async open(
    test: Cleanup,
    env: Readonly<Record<string, string>> = {},
    options: Omit<WorldOptions, 'env'> = {},
  ): Promise<TunnelWorld> {
    const holder: { world?: TunnelWorld } = {};
    // Before the server's own hook: agents would reconnect repeatedly while it closes.
    test.after(() => holder.world?.closeAgents() ?? Promise.resolve());
    const token = `test-token-${randomBytes(24).toString('base64url')}`;
    const edge = await EdgeWorld.open(
      test,
      {
        POSTERN_ROLES: 'api,edge,gateway',
        POSTERN_TUNNEL_LISTEN: '127.0.0.1:0',
        POSTERN_TCP_PORTS: '127.0.0.1:21000-21999',
        POSTERN_AUTHTOKEN: token,
        ...env,
      },
      options,
    );
    const world = new TunnelWorld(edge, token);
    holder.world = world;
    return world;
  }

  get port(): number {
    return this.edge.world.server.addresses.tunnel?.port ?? 0;
  }

  /** An agent whose tunnels are bound. */
  async agent(tunnels: readonly TunnelSpec[], fields: AgentFields = {}): Promise<AgentHandle> {
    const agent = await connect({
      serverAddr: `127.0.0.1:${this.port}`,
      authtoken: this.token,
      ca: this.edge.ca,
      ...fields,
      tunnels,
    });
    this.#agents.add(agent);
    agent.on('status', ({ status }) => {
      if (status === 'stopped') this.#agents.delete(agent);
    });
    return agent;
  }

  async closeAgents(): Promise<void> {
    await Promise.all([...this.#agents].map((agent) => agent.close()));
  }
}
