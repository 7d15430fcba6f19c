import type { Welcome } from '../tunnel/messages.ts';
import { CONNECTIONS_PER_SESSION, MAX_CONNECTIONS_PER_SESSION, MAX_WANTED_CONNECTIONS } from '../tunnel/protocol.ts';
import type { AgentFacts, AgentSession } from './agent-session.ts';
import type { ClaimRefusal, SessionRecords } from './claims.ts';
import type { LocalConnection } from './local-connection.ts';
import type { GatewayPorts } from './ports.ts';
import type { Presence } from './presence.ts';
import type { RemoteSessionConnection } from './session-connection.ts';
import type { SessionLife } from './session-life.ts';

const ANSWERS_WITHIN_MS = 2_000;

/** What a connection claims about a session. */
export interface SessionClaim {
  readonly how: 'join' | 'resume';
  readonly credentialId: string;
  readonly secret: string;
  readonly hello: AgentFacts;
}

interface HomeAdmissionParts {
  readonly ports: Pick<GatewayPorts, 'region' | 'log' | 'events' | 'workers'>;
  readonly life: SessionLife;
  readonly presence: Presence;
  readonly records: SessionRecords;
  /** The connection belongs to the session from now on. */
  registered(connection: LocalConnection, session: AgentSession): void;
}

/** Adds connections to sessions that this node decides about, whichever node has the connection. */
export class HomeAdmission {
  readonly #parts: HomeAdmissionParts;

  constructor(parts: HomeAdmissionParts) {
    this.#parts = parts;
  }

  isOwner(session: AgentSession, { credentialId, secret }: Pick<SessionClaim, 'credentialId' | 'secret'>): boolean {
    return session.credentialId === credentialId && session.isSecret(secret) && !session.isEnded;
  }

  /** For the owner of the session. */
  async admit(
    session: AgentSession,
    connection: LocalConnection | RemoteSessionConnection,
    { how, hello }: Pick<SessionClaim, 'how' | 'hello'>,
  ): Promise<Welcome | ClaimRefusal> {
    if (how === 'join' && (await this.#isFull(session))) {
      const message = `an agent may have at most ${MAX_CONNECTIONS_PER_SESSION} connections, including those lost in the last seconds: close some, or start another agent`;
      return { code: 'ERR_POSTERN_AGENT_CONNECTIONS', message, retry: true };
    }
    // The last other connection may have been lost in the meantime, and with it the lease.
    if (how === 'join') return this.attach(session, connection, session.isOnline ? 'joined' : 'resumed', hello);
    session.generation += 1;
    const old = session.connections;
    const welcome = this.attach(session, connection, 'resumed', hello);
    // Connections from before the resume are void.
    for (const each of old) each.fail('the agent resumed its session on a new connection');
    return welcome;
  }

  /** Connections that are gone without a word do not count. */
  async #isFull(session: AgentSession): Promise<boolean> {
    const hasRoom = (): boolean => session.connections.length < MAX_CONNECTIONS_PER_SESSION;
    if (hasRoom()) return false;
    const each = session.connections.map(async (connection) => {
      if (!(await connection.isAlive(ANSWERS_WITHIN_MS))) connection.fail('the agent no longer responds');
    });
    await Promise.all(each);
    const left = session.connections.filter(({ isClosed }) => !isClosed);
    return left.length >= MAX_CONNECTIONS_PER_SESSION;
  }

  /** `secret` is given for a new session, which was stored with it. */
  async attach(
    session: AgentSession,
    connection: LocalConnection | RemoteSessionConnection,
    how: 'new' | 'resumed' | 'joined',
    hello: AgentFacts,
    secret: string | null = how === 'joined' ? null : session.newSecret(),
  ): Promise<Welcome> {
    const { ports, life, presence, records } = this.#parts;
    if (session.offlineTimer !== null) clearTimeout(session.offlineTimer);
    session.offlineTimer = null;
    if (!('nodeId' in connection)) {
      session.local.push(connection);
      this.#parts.registered(connection, session);
    } else session.remote.push(connection);
    life.routeAll(session);
    if (how !== 'joined') {
      const { agent_version, os, metadata, remote_management } = hello;
      session.hello = { agent_version, os, metadata, remote_management };
      if (how === 'resumed') records.changed(session);
      await presence.listSession(session);
    }
    if (how !== 'joined' && !connection.isClosed) {
      ports.log.info({ session: session.id, ip: connection.remoteAddress, how }, 'an agent is online');
      session.isReported = true;
      ports.events.sessionStarted(session.id);
    }
    return {
      t: 'welcome',
      session: session.id,
      secret,
      generation: session.generation,
      region: ports.region,
      connections: wantedConnections(ports.workers?.count ?? 1),
      resumed: how !== 'new',
    };
  }
}

/** So many that most workers have one: a request in such a worker needs no other thread. */
function wantedConnections(workers: number): number {
  return Math.max(CONNECTIONS_PER_SESSION, Math.min(workers, MAX_WANTED_CONNECTIONS));
}
