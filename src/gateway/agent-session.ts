import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { AgentLink } from '../edge/tunnels/online-tunnels.ts';
import type { Hello } from '../tunnel/messages.ts';
import type { AgentConnection } from './agent-connection.ts';
import type { BoundTunnel } from './bound-tunnel.ts';

/**
 * One run of an agent. States: *online* (it has a connection), *offline* (all connections were lost; its ids and names
 * are kept for a while so that it can resume), *ended*.
 */
export class AgentSession {
  readonly id: string;
  readonly credentialId: string;
  readonly startedAt: string;
  readonly tunnels = new Map<string, BoundTunnel>();
  readonly connections: AgentConnection[] = [];
  /** Fields of the last hello. */
  hello: Hello;
  generation = 1;
  isEnded = false;
  /** Its agent was asked to connect to another process, and may come back with a new session. */
  isSentAway = false;
  offlineTimer: NodeJS.Timeout | null = null;
  /** Binds are executed one after the other. */
  work: Promise<void> = Promise.resolve();
  #secretHash: Buffer = Buffer.alloc(0);

  constructor(facts: {
    readonly id: string;
    readonly credentialId: string;
    readonly startedAt: string;
    readonly hello: Hello;
  }) {
    this.id = facts.id;
    this.credentialId = facts.credentialId;
    this.startedAt = facts.startedAt;
    this.hello = facts.hello;
  }

  get isOnline(): boolean {
    return this.connections.length > 0 && !this.isEnded;
  }

  /** Creates the proof for a resume. Only the agent keeps it, in memory; this side keeps its hash. */
  newSecret(): string {
    const secret = randomBytes(32).toString('base64url');
    this.#secretHash = hashOf(secret);
    return secret;
  }

  isSecret(secret: string): boolean {
    return this.#secretHash.length > 0 && timingSafeEqual(this.#secretHash, hashOf(secret));
  }

  /** The connection with the fewest streams, among those that accept more. */
  link(): AgentLink | null {
    let best: AgentConnection | null = null;
    for (const connection of this.connections) {
      if (connection.hasRoom && (best === null || connection.active < best.active)) best = connection;
    }
    return best;
  }

  async isAlive(withinMs: number): Promise<boolean> {
    const answers = await Promise.all(this.connections.map((connection) => connection.isAlive(withinMs)));
    return answers.includes(true);
  }
}

function hashOf(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}
