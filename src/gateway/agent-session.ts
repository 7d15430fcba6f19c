import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { AgentLink } from '../edge/tunnels/online-tunnels.ts';
import { takes } from '../lib/net/shared-places.ts';
import type { Hello } from '../tunnel/messages.ts';
import type { BoundTunnel } from './bound-tunnel.ts';
import type { LocalConnection } from './local-connection.ts';
import type { ReservedTunnel } from './nodes/session-record.ts';
import { ALWAYS, type RightToServe } from './right-to-serve.ts';
import type { RemoteSessionConnection, SessionConnection } from './session-connection.ts';

const NO_HASH: Buffer = Buffer.alloc(0);

/** What an agent says about itself. */
export type AgentFacts = Pick<Hello, 'agent_version' | 'os' | 'metadata' | 'remote_management'>;

/**
 * One run of an agent. States: *online* (it has a connection), *offline* (all connections were lost; its ids and names
 * are kept for a while so that it can resume), *ended*. One node, its home, decides about it; another node that has one
 * of its connections holds a copy with the same tunnels.
 */
export class AgentSession {
  readonly id: string;
  readonly credentialId: string;
  readonly startedAt: string;
  readonly tunnels = new Map<string, BoundTunnel>();
  /** Tunnels that it had on a node that is gone, until the agent binds them again. */
  readonly reserved = new Map<string, ReservedTunnel>();
  /** Connections of this node. */
  readonly local: LocalConnection[] = [];
  /** At home: connections of other nodes. */
  readonly remote: RemoteSessionConnection[] = [];
  /** The node that decides about it. Null: this one. */
  home: string | null = null;
  /** Increases whenever its home changes. */
  epoch = 0;
  right: RightToServe = ALWAYS;
  /** From the last hello. */
  hello: AgentFacts;
  /** What the agent reports about its machine. */
  problems: readonly string[] = [];
  generation = 1;
  isEnded = false;
  /** Its start was reported as an event, here or by its former home. */
  isReported = false;
  /**
   * Its agent was asked to connect to another process, and may come back with a new session. That one ends this one, and
   * the agent must not take it for the end of both.
   */
  isSentAway = false;
  offlineTimer: NodeJS.Timeout | null = null;
  /** Binds are executed one after the other. */
  work: Promise<void> = Promise.resolve();
  #secretHash: Buffer = NO_HASH;
  /** Also valid until the agent has shown that it received the current one: a welcome may be lost with its connection. */
  #formerHash: Buffer = NO_HASH;

  constructor(facts: {
    readonly id: string;
    readonly credentialId: string;
    readonly startedAt: string;
    readonly hello: AgentFacts;
  }) {
    this.id = facts.id;
    this.credentialId = facts.credentialId;
    this.startedAt = facts.startedAt;
    this.hello = facts.hello;
  }

  /** All connections, those of this node first. */
  get connections(): readonly SessionConnection[] {
    return [...this.local, ...this.remote];
  }

  get isOnline(): boolean {
    return this.local.length + this.remote.length > 0 && !this.isEnded;
  }

  /** Only the agent keeps the secret, in memory; this side keeps its hash. */
  get secretHash(): string {
    return this.#secretHash.toString('base64url');
  }

  /** Null: the agent has the current secret. */
  get formerSecretHash(): string | null {
    return this.#formerHash.length === 0 ? null : this.#formerHash.toString('base64url');
  }

  /** A session that another node started. */
  setSecretHashes(current: string, former: string | null): void {
    this.#secretHash = Buffer.from(current, 'base64url');
    this.#formerHash = former === null ? NO_HASH : Buffer.from(former, 'base64url');
  }

  /** Creates the proof for a resume. */
  newSecret(): string {
    const secret = randomBytes(32).toString('base64url');
    // The agent may have none of those that were created since.
    if (this.#formerHash.length === 0) this.#formerHash = this.#secretHash;
    this.#secretHash = hashOf(secret);
    return secret;
  }

  isSecret(secret: string): boolean {
    const offered = hashOf(secret);
    return isEqual(this.#secretHash, offered) || isEqual(this.#formerHash, offered);
  }

  /** The agent has received the current secret. */
  secretReceived(): void {
    this.#formerHash = NO_HASH;
  }

  /** The connection with the fewest streams, among those of this node that take the visitor's and were not tried. */
  link(tried?: readonly AgentLink[], visitor?: string): AgentLink | null {
    let best: LocalConnection | null = null;
    for (const connection of this.local) {
      if (!takes(connection, visitor) || tried?.includes(connection) === true) continue;
      if (best === null || connection.active < best.active) best = connection;
    }
    return best;
  }

  async isAlive(withinMs: number): Promise<boolean> {
    const answers = await Promise.all(this.connections.map((connection) => connection.isAlive(withinMs)));
    return answers.includes(true);
  }
}

function isEqual(known: Buffer, offered: Buffer): boolean {
  return known.length === offered.length && timingSafeEqual(known, offered);
}

function hashOf(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}
