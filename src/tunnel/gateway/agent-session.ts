import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Static } from 'typebox';
import Type from 'typebox';
import { Compile } from 'typebox/compile';
import type { JsonObject } from '../../kit/json.ts';
import { splitAddress } from '../../kit/net/host-name.ts';
import { type Shortage, shortageOf, takes } from '../../kit/net/shared-places.ts';
import type { AgentLink, OnlineTunnel } from '../../proxy/edge/tunnels/online-tunnels.ts';
import { TunnelUse } from '../../proxy/edge/tunnels/tunnel-use.ts';
import type { StoredSession } from '../../store/node-store.ts';
import type { AgentMessage, Bind, GatewayMessage, Hello } from '../protocol/messages.ts';

/** Whether names of agents may be served now. Read per request. */
export interface RightToServe {
  mayServe(): boolean;
}

/** For a server that shares its names with no other. */
export const ALWAYS: RightToServe = { mayServe: () => true };

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
  /** The session's start was reported as an event, here or by its former home. */
  isReported = false;
  /**
   * The agent was asked to connect to another process, and may come back with a new session. That one ends this one,
   * and the agent must not take it for the end of both.
   */
  isSentAway = false;
  offlineTimer: NodeJS.Timeout | null = null;
  /** Binds are executed one after the other. */
  work: Promise<void> = Promise.resolve();
  #secretHash: Buffer = NO_HASH;
  /**
   * Also valid until the agent has shown that it received the current one: a welcome may be lost with its connection.
   */
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

/** One owner per host, on both listeners. */
export function nameKey(host: string): string {
  return `name ${host}`;
}

export function portKey(port: number): string {
  return `port ${port}`;
}

/**
 * A tunnel that an agent has bound. It outlives its session's connections for as long as the session can be resumed.
 */
export class BoundTunnel implements OnlineTunnel {
  readonly id: string;
  readonly startedAt: string;
  readonly labels: Readonly<Record<string, string>> | null;
  readonly proto: NonNullable<Bind['proto']> | null;
  readonly endpointId: string | null;
  readonly host: string | null;
  inFlight = 0;
  readonly use = new TunnelUse();
  ref: number;
  metadata: string;
  forwardsTo: string;
  modules: NonNullable<Bind['modules']>;
  /** The agent is connected, here or to another node, and it was announced as online. */
  isListed = false;
  /** Set once it is published. */
  publicUrl: string | null = null;
  hostport: string | null = null;
  readonly #session: AgentSession;

  constructor(
    session: AgentSession,
    facts: {
      readonly id: string;
      readonly startedAt: string;
      readonly endpointId: string | null;
      readonly host: string | null;
      readonly bind: Bind;
    },
  ) {
    this.#session = session;
    this.id = facts.id;
    this.startedAt = facts.startedAt;
    this.endpointId = facts.endpointId;
    this.host = facts.host;
    this.labels = facts.bind.labels ?? null;
    this.proto = facts.bind.proto ?? null;
    this.ref = facts.bind.ref;
    this.metadata = facts.bind.metadata;
    this.forwardsTo = facts.bind.forwards_to;
    this.modules = facts.bind.modules ?? {};
  }

  get session(): AgentSession {
    return this.#session;
  }

  /** Names and ports belong to one agent in the whole installation; labels to all that have them. */
  link(tried?: readonly AgentLink[], visitor?: string): AgentLink | null {
    if (this.proto !== null && !this.#session.right.mayServe()) return null;
    return this.#session.link(tried, visitor);
  }

  shortage(visitor: string | undefined): Shortage | null {
    if (this.proto !== null && !this.#session.right.mayServe()) return null;
    return shortageOf(this.#session.local, visitor);
  }

  get isSuspended(): boolean {
    return this.proto !== null && this.#session.local.length > 0 && !this.#session.right.mayServe();
  }

  /** For tcp: the port that clients connect to. */
  get port(): number | null {
    if (this.proto !== 'tcp' || this.hostport === null) return null;
    return splitAddress(this.hostport).port;
  }

  /** Names and ports that no other session may have. */
  get claimKeys(): readonly string[] {
    if (this.host !== null) return [nameKey(this.host)];
    return this.port === null ? [] : [portKey(this.port)];
  }
}

/** A connection of a session, seen by the node that decides about the session: here, or on another node. */
export interface SessionConnection {
  readonly remoteAddress: string;
  readonly isClosed: boolean;
  send(message: GatewayMessage): void;
  /** Sends the reason, then closes. */
  refuse(code: string, message: string, retry: boolean): void;
  /** Closes immediately. */
  fail(reason: string): void;
  /** The agent left cleanly. */
  close(): void;
  isAlive(withinMs: number): Promise<boolean>;
}

/** A connection that another node has. */
export interface RemoteSessionConnection extends SessionConnection {
  readonly nodeId: string;
  /** The other node's number for it. */
  readonly number: number;
}

/** An agent's connection to this node, in the gateway's thread (`AgentConnection`) or in a worker. */
export interface LocalConnection extends AgentLink, SessionConnection {
  /** Number of the worker that has it; undefined: the gateway's own thread. */
  readonly worker?: number;
  /** Duration of the last ping; null before the first answer. */
  readonly roundTripMs: number | null;
  /** Received from the agent and sent to it, without TLS. */
  readonly bytes: { readonly received: number; readonly sent: number };
  /** False when it was measured lately. */
  measureRoundTrip(): boolean;
  /** The agent has identified itself and was accepted. */
  greeted(): void;
  /**
   * A worker that has the connection serves the session's names by the right of this node only while it is the home.
   */
  belongsTo?(sessionId: string, isHome: boolean): void;
  /** The agent connects to another process; requests still go to it on this connection until `drain`. */
  sendAway(): void;
  /** Notifies the agent, sends new streams elsewhere, and closes when the last stream has ended. */
  drain(): void;
}

export interface ConnectionHandler<Connection = LocalConnection> {
  onMessage(connection: Connection, message: AgentMessage): void;
  /** Called once. `reason` is null when the agent left cleanly. */
  onClosed(connection: Connection, reason: string | null): void;
}

const nullable = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

const reservedTunnel = Type.Object({
  id: Type.String(),
  ref: Type.Integer(),
  endpoint_id: nullable(Type.String()),
  proto: nullable(Type.Enum(['http', 'https', 'tcp', 'tls'])),
  host: nullable(Type.String()),
  port: nullable(Type.Integer()),
  labels: nullable(Type.Record(Type.String(), Type.String())),
  started_at: Type.String(),
});

const record = Type.Object({
  secret_hash: Type.String(),
  /** Absent: the agent has the current secret. */
  former_secret_hash: Type.Optional(Type.String()),
  generation: Type.Integer({ minimum: 1 }),
  started_at: Type.String(),
  agent_version: Type.String(),
  os: Type.String(),
  metadata: Type.String(),
  remote_management: Type.Boolean(),
  tunnels: Type.Array(reservedTunnel),
});

/** A tunnel in the store: enough to bind it with the same ids and name again. No modules: these may contain secrets. */
export type ReservedTunnel = Static<typeof reservedTunnel>;

const check = Compile(record);

/** The record that lets another node resume the session. */
export function sessionRecord(session: AgentSession): JsonObject {
  const { hello } = session;
  return {
    secret_hash: session.secretHash,
    ...(session.formerSecretHash !== null && { former_secret_hash: session.formerSecretHash }),
    generation: session.generation,
    started_at: session.startedAt,
    agent_version: hello.agent_version,
    os: hello.os,
    metadata: hello.metadata,
    remote_management: hello.remote_management,
    tunnels: [
      ...session.reserved.values(),
      ...[...session.tunnels.values()].map((tunnel) => ({
        id: tunnel.id,
        ref: tunnel.ref,
        endpoint_id: tunnel.endpointId,
        proto: tunnel.proto,
        host: tunnel.host,
        port: tunnel.port,
        labels: tunnel.labels,
        started_at: tunnel.startedAt,
      })),
    ],
  };
}

/** Null: another version wrote the record, and this version does not understand it. */
export function sessionOfRecord({ id, credentialId, epoch, doc }: StoredSession): AgentSession | null {
  if (!check.Check(doc)) return null;
  const { agent_version, os, metadata, remote_management } = doc;
  const hello = { agent_version, os, metadata, remote_management };
  const session = new AgentSession({ id, credentialId, startedAt: doc.started_at, hello });
  session.epoch = epoch;
  session.generation = doc.generation;
  session.setSecretHashes(doc.secret_hash, doc.former_secret_hash ?? null);
  for (const tunnel of doc.tunnels) session.reserved.set(tunnel.id, tunnel);
  return session;
}
