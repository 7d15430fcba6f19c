import { within } from '../../kit/async/waiting.ts';
import { rfc3339 } from '../../kit/clock.ts';
import type { Hello, Welcome } from '../protocol/messages.ts';
import { CONNECTIONS_PER_SESSION, MAX_CONNECTIONS_PER_SESSION, MAX_WANTED_CONNECTIONS } from '../protocol/protocol.ts';
import {
  type AgentFacts,
  AgentSession,
  type LocalConnection,
  type RemoteSessionConnection,
  type RightToServe,
} from './agent-session.ts';
import { isRefusedFirst, WRONG_SECRET_DELAY_MS } from './enrollment.ts';
import type { Credentials, GatewayPorts } from './ports.ts';
import type { Presence } from './presence.ts';
import type { SessionLife } from './session-life.ts';
import type { ClaimRefusal, SessionRecords } from './tunnel-names.ts';

const REFRESH_WITHIN_MS = 2_500;

/** Sessions that other nodes decide about. */
export interface SessionsElsewhere {
  /** `here`: this node has become its home. `unknown`: no node has it. */
  admit(
    connection: LocalConnection,
    sessionId: string,
    claim: SessionClaim,
  ): Promise<'admitted' | 'here' | 'unknown' | ClaimRefusal>;
}

interface AdmissionParts {
  readonly ports: Pick<GatewayPorts, 'clock' | 'credentials' | 'newId'>;
  readonly life: SessionLife;
  readonly home: HomeAdmission;
  readonly records: SessionRecords;
  readonly elsewhere: SessionsElsewhere | null;
  readonly right: RightToServe;
  isClosing(): boolean;
  /** Fields of `welcome` about this node. */
  nodeFields(): object;
}

/** Decides about an agent's first message: refuses it, starts a session, or adds the connection to one. */
export class Admission {
  readonly #parts: AdmissionParts;

  constructor(parts: AdmissionParts) {
    this.#parts = parts;
  }

  async hello(connection: LocalConnection, hello: Hello): Promise<void> {
    const { home } = this.#parts;
    if (isRefusedFirst(connection, hello.version, this.#parts.isClosing())) return;
    const credential = await this.#check(hello.token);
    if (credential === 'unchecked') {
      const message =
        'the server reaches neither its database nor all other nodes, so the agent token cannot be checked: the agent tries again';
      connection.refuse('ERR_POSTERN_GATEWAY_STORE', message, true);
      return;
    }
    if (credential === null) {
      await new Promise((resolve) => setTimeout(resolve, WRONG_SECRET_DELAY_MS));
      const message =
        'this server does not know the agent token: check it, or create one with "postern api credentials create"';
      connection.refuse('ERR_POSTERN_AGENT_TOKEN', message, false);
      return;
    }
    const wanted = hello.join ?? hello.resume;
    if (wanted === undefined) return this.#start(connection, hello, credential.id);
    const how = hello.join === undefined ? 'resume' : 'join';
    const claim: SessionClaim = { how, credentialId: credential.id, secret: wanted.secret, hello };
    const session = await this.#find(connection, wanted.session, claim);
    if (session === 'answered' || connection.isClosed) return;
    if (session !== null && home.isOwner(session, claim)) {
      const outcome = await home.admit(session, connection, claim);
      if ('code' in outcome) connection.refuse(outcome.code, outcome.message, outcome.retry);
      else connection.send({ ...outcome, ...this.#parts.nodeFields() });
    } else if (how === 'resume') await this.#start(connection, hello, credential.id);
    else connection.refuse('ERR_POSTERN_AGENT_SESSION', 'the session to join does not exist', true);
  }

  /** `unchecked`: it may have been created, or revoked, at another node. */
  async #check(token: string): Promise<ReturnType<Credentials['find']> | 'unchecked'> {
    const { credentials } = this.#parts.ports;
    const known = credentials.find(token);
    if (known === null) return this.#createdJustNow(token);
    return credentials.isCurrent() ? known : 'unchecked';
  }

  /** Another node may have created it some milliseconds ago, and a refusal is final for the agent. */
  async #createdJustNow(token: string): Promise<ReturnType<Credentials['find']> | 'unchecked'> {
    const { credentials } = this.#parts.ports;
    try {
      await within(credentials.refresh(), REFRESH_WITHIN_MS, 'the database');
    } catch {
      return 'unchecked';
    }
    return credentials.find(token);
  }

  /** The session, if this node decides about it. */
  async #find(connection: LocalConnection, id: string, claim: SessionClaim): Promise<AgentSession | null | 'answered'> {
    const { life, elsewhere } = this.#parts;
    const known = life.all.get(id);
    if (elsewhere === null || known?.home === null) return known ?? null;
    const outcome = await elsewhere.admit(connection, id, claim);
    if (outcome === 'admitted') return 'answered';
    if (typeof outcome === 'object') {
      connection.refuse(outcome.code, outcome.message, outcome.retry);
      return 'answered';
    }
    const found = life.all.get(id);
    return found?.home === null ? found : null;
  }

  async #start(connection: LocalConnection, hello: Hello, credentialId: string): Promise<void> {
    const { ports, life, home, records } = this.#parts;
    const id = ports.newId('ts');
    const startedAt = rfc3339(ports.clock.nowMs());
    const { agent_version, os, metadata, remote_management } = hello;
    const facts = { agent_version, os, metadata, remote_management };
    const session = new AgentSession({ id, credentialId, startedAt, hello: facts });
    session.right = this.#parts.right;
    const secret = session.newSecret();
    try {
      await records.create(session);
    } catch {
      const message =
        'the database of the server cannot be reached: sessions that exist go on, and the agent tries again until a new one can be started';
      connection.refuse('ERR_POSTERN_GATEWAY_STORE', message, true);
      return;
    }
    if (connection.isClosed) {
      records.remove(session, Promise.resolve());
      return;
    }
    life.all.set(id, session);
    const welcome = await home.attach(session, connection, 'new', facts, secret);
    connection.send({ ...welcome, ...this.#parts.nodeFields() });
  }
}

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
