import type { TLSSocket } from 'node:tls';
import { rfc3339 } from '../lib/clock.ts';
import { peerOf } from '../lib/proxy-protocol/arriving-clients.ts';
import type { AgentMessage, Bind, Hello } from '../tunnel/messages.ts';
import { CONNECTIONS_PER_SESSION, MAX_CONNECTIONS_PER_SESSION, PROTOCOL_VERSION } from '../tunnel/protocol.ts';
import { AgentConnection, type ConnectionHandler, untilIdle } from './agent-connection.ts';
import { AgentSession } from './agent-session.ts';
import type { BoundTunnel } from './bound-tunnel.ts';
import { applyCredentialChange } from './credential-change.ts';
import { onlineKeys } from './online-keys.ts';
import type { OnlineTunnelTable } from './online-tunnel-table.ts';
import type { GatewayCounts, GatewayPorts } from './ports.ts';
import { Presence } from './presence.ts';
import { type CommandOutcome, SentCommands } from './sent-commands.ts';
import { TunnelBinder } from './tunnel-binder.ts';
import { TunnelNames } from './tunnel-names.ts';

/** How long ids and names of a disconnected agent are kept for a resume. */
const RESUME_WITHIN_MS = 60_000;
/** Connections that have not identified themselves. */
const MAX_UNKNOWN = 1_000;
/** Slows down guessing of tokens. */
const WRONG_TOKEN_DELAY_MS = 1_000;

/** The server's end of tunnels: connected agents and their tunnels. */
export class Gateway implements ConnectionHandler {
  readonly #ports: GatewayPorts;
  readonly #presence: Presence;
  readonly #table: OnlineTunnelTable;
  readonly #names: TunnelNames;
  readonly #binder: TunnelBinder;
  readonly #commands = new SentCommands();
  readonly #sessions = new Map<string, AgentSession>();
  /** Null: it has not sent hello yet. */
  readonly #connections = new Map<AgentConnection, AgentSession | null>();
  /** The unidentified ones, oldest first. */
  readonly #unknown = new Set<AgentConnection>();
  /** Connections whose hello is being checked. */
  readonly #judged = new WeakSet<AgentConnection>();
  readonly #unsubscribe: () => void;
  #isDraining = false;
  #isSendingAway = false;

  constructor(ports: GatewayPorts) {
    const { presence: store, clock, bootId, region, log } = ports;
    this.#ports = ports;
    this.#table = ports.table;
    this.#presence = new Presence({
      store,
      clock,
      bootId,
      region,
      sessions: () => this.#sessions.values(),
      isOnline: (tunnel) => this.#table.get(tunnel.id) === tunnel,
      onProblem: (err) => log.error({ err }, 'failed to write which agents are online'),
    });
    this.#names = new TunnelNames({
      domain: ports.domain,
      isCoveredByEdge: (host) => ports.endpoints.isCoveredByEdge(host),
      endSession: (session, reason) => void this.#endSession(session, 'ERR_POSTERN_AGENT_REPLACED', reason),
      endTunnel: (tunnel) => void this.#endTunnel(tunnel),
    });
    this.#binder = new TunnelBinder({
      ports,
      names: this.#names,
      table: this.#table,
      presence: this.#presence,
      endTunnel: (tunnel) => this.#endTunnel(tunnel),
    });
    this.#unsubscribe = ports.credentials.onChange((credentialId) =>
      applyCredentialChange(credentialId, ports.credentials.get(credentialId), {
        sessions: () => [...this.#sessions.values()],
        isAllowed: (tunnel, acl) => this.#binder.isAllowed(tunnel, acl),
        endSession: (session, code, reason) => void this.#endSession(session, code, reason),
        endTunnel: (tunnel) => void this.#endTunnel(tunnel),
      }),
    );
  }

  get counts(): GatewayCounts {
    return {
      connections: this.#connections.size,
      unknown: this.#unknown.size,
      sessions: this.#sessions.size,
      tunnels: this.#table.size,
    };
  }

  /** Names of tunnels that an edge with this host, which may be a wildcard, would take over. */
  namesUnder(host: string): readonly string[] {
    return this.#names.under(host);
  }

  /** Takes over a connection after its TLS handshake. */
  accept(socket: TLSSocket, remoteAddress: string = peerOf(socket).address): void {
    const connection = new AgentConnection(socket, this, remoteAddress);
    this.#connections.set(connection, null);
    this.#unknown.add(connection);
    if (this.#unknown.size <= MAX_UNKNOWN) return;
    // Drops the one that has been silent longest: an agent sends hello at once, and strangers must not crowd it out.
    const [oldest] = this.#unknown;
    if (oldest === undefined) return;
    this.#unknown.delete(oldest);
    oldest.fail('too many unauthenticated connections');
  }

  /** Sends the command; resolves once the agent has responded. */
  command(sessionId: string, command: 'stop' | 'restart' | 'update'): Promise<CommandOutcome> {
    const [connection] = this.#sessions.get(sessionId)?.connections ?? [];
    return connection === undefined ? Promise.resolve('unreachable') : this.#commands.send(connection, command);
  }

  /** Another process takes over: asks agents to connect again, which leads them there. Returns their tunnels. */
  sendAway(): readonly string[] {
    this.#isSendingAway = true;
    for (const session of this.#sessions.values()) session.isSentAway = true;
    for (const connection of this.#connections.keys()) connection.sendAway();
    return this.onlineTunnels();
  }

  /** The other process failed: agents that come back are welcome. */
  takeBack(): void {
    this.#isSendingAway = false;
  }

  onlineTunnels(): readonly string[] {
    return onlineKeys(this.#sessions.values(), this.#table);
  }

  /** Tells agents to connect elsewhere; requests in progress may finish for up to `timeoutMs`. */
  async drain(timeoutMs: number): Promise<void> {
    this.#isDraining = true;
    for (const connection of this.#connections.keys()) connection.drain();
    await untilIdle(() => this.#connections.keys(), timeoutMs);
    this.#unsubscribe();
    await Promise.all(
      [...this.#sessions.values()].map((session) =>
        this.#endSession(session, 'ERR_POSTERN_GATEWAY_DRAINING', 'the server is being stopped', true),
      ),
    );
    for (const connection of this.#connections.keys()) connection.fail('the server is being stopped');
    this.#presence.close();
  }

  onMessage(connection: AgentConnection, message: AgentMessage): void {
    const session = this.#connections.get(connection) ?? null;
    if (session === null) {
      if (message.t !== 'hello') connection.fail('the first message of an agent must be hello');
      else if (this.#judged.has(connection)) connection.fail('the agent sent hello twice');
      else {
        this.#judged.add(connection);
        this.#hello(connection, message).catch((err: unknown) => {
          this.#ports.log.error({ err }, 'failed to admit an agent');
          connection.fail('the server has an internal error');
        });
      }
      return;
    }
    switch (message.t) {
      case 'hello':
        connection.fail('the agent sent hello twice');
        return;
      case 'bind':
        this.#inTurn(session, () => this.#bind(session, connection, message));
        return;
      case 'unbind':
        this.#inTurn(session, () => this.#unbind(session, message.ref));
        return;
      case 'bye':
        this.#inTurn(session, () => this.#endSession(session, null, 'the agent was closed'));
        return;
      case 'done':
        this.#commands.done(connection, message);
    }
  }

  onClosed(connection: AgentConnection, reason: string | null): void {
    const session = this.#connections.get(connection) ?? null;
    this.#connections.delete(connection);
    this.#commands.lost(connection);
    if (session === null) {
      this.#unknown.delete(connection);
      if (reason !== null) this.#ports.log.warn({ ip: connection.remoteAddress, why: reason }, 'rejected an agent');
      return;
    }
    const at = session.connections.indexOf(connection);
    if (at !== -1) session.connections.splice(at, 1);
    if (session.connections.length === 0 && !session.isEnded) this.#wentOffline(session, reason);
  }

  async #hello(connection: AgentConnection, hello: Hello): Promise<void> {
    const { credentials } = this.#ports;
    if (this.#isDraining || this.#isSendingAway) {
      connection.refuse('ERR_POSTERN_GATEWAY_DRAINING', 'the server is being stopped; try again in a moment', true);
      return;
    }
    if (hello.version !== PROTOCOL_VERSION) {
      const message = `the server speaks protocol version ${PROTOCOL_VERSION}, but the agent version ${hello.version}: use the same release of both`;
      connection.refuse('ERR_POSTERN_AGENT_PROTOCOL', message, false);
      return;
    }
    const credential = credentials.find(hello.token);
    if (credential === null) {
      await new Promise((resolve) => setTimeout(resolve, WRONG_TOKEN_DELAY_MS));
      const message =
        'this server does not know the authtoken: check it, or create one with "postern api credentials create"';
      connection.refuse('ERR_POSTERN_AGENT_TOKEN', message, false);
      return;
    }
    const claim = hello.join ?? hello.resume;
    const claimed = claim === undefined ? undefined : this.#sessions.get(claim.session);
    const isOwner =
      claimed !== undefined &&
      claim !== undefined &&
      claimed.credentialId === credential.id &&
      claimed.isSecret(claim.secret) &&
      !claimed.isEnded;
    if (hello.join !== undefined) {
      if (isOwner && claimed.connections.length < MAX_CONNECTIONS_PER_SESSION) {
        // The last other connection may have been lost in the meantime, and with it the lease.
        await this.#attach(connection, claimed, hello, claimed.isOnline ? 'joined' : 'resumed');
      } else if (isOwner) {
        const message = `an agent may have at most ${MAX_CONNECTIONS_PER_SESSION} connections, including those lost in the last seconds: close some, or start another agent`;
        connection.refuse('ERR_POSTERN_AGENT_CONNECTIONS', message, true);
      } else connection.refuse('ERR_POSTERN_AGENT_SESSION', 'the session to join does not exist', true);
    } else if (isOwner) {
      claimed.generation += 1;
      // Connections from before the resume are void.
      for (const old of [...claimed.connections]) old.fail('the agent resumed its session on a new connection');
      await this.#attach(connection, claimed, hello, 'resumed');
    } else {
      const id = this.#ports.newId('ts');
      const startedAt = rfc3339(this.#ports.clock.nowMs());
      const session = new AgentSession({ id, credentialId: credential.id, startedAt, hello });
      this.#sessions.set(id, session);
      await this.#attach(connection, session, hello, 'new');
    }
  }

  async #attach(
    connection: AgentConnection,
    session: AgentSession,
    hello: Hello,
    how: 'new' | 'resumed' | 'joined',
  ): Promise<void> {
    if (connection.isClosed) return;
    if (session.offlineTimer !== null) clearTimeout(session.offlineTimer);
    session.offlineTimer = null;
    session.connections.push(connection);
    if (how !== 'joined') session.hello = hello;
    this.#connections.set(connection, session);
    this.#unknown.delete(connection);
    connection.greeted();
    if (how !== 'joined') {
      await this.#presence.listSession(session);
      this.#ports.log.info({ session: session.id, ip: connection.remoteAddress, how }, 'an agent is online');
      this.#ports.events.sessionStarted(session.id);
    }
    connection.send({
      t: 'welcome',
      session: session.id,
      secret: how === 'joined' ? null : session.newSecret(),
      generation: session.generation,
      region: this.#ports.region,
      connections: CONNECTIONS_PER_SESSION,
      resumed: how !== 'new',
    });
  }

  async #bind(session: AgentSession, connection: AgentConnection, bind: Bind): Promise<void> {
    if (session.isEnded) return;
    const { ref } = bind;
    const outcome = await this.#binder.bind(session, bind);
    if ('code' in outcome) {
      const { code, message, retry } = outcome;
      connection.send({ t: 'unbound', ref, code, message, retry });
      return;
    }
    const { id, publicUrl, proto, labels } = outcome;
    this.#ports.log.info({ session: session.id, tunnel: id, url: publicUrl, labels }, 'a tunnel is online');
    connection.send({
      t: 'bound',
      ref,
      id,
      ...(publicUrl !== null && { public_url: publicUrl, url: publicUrl }),
      ...(proto !== null && { proto }),
      region: this.#ports.region,
    });
  }

  async #unbind(session: AgentSession, ref: number): Promise<void> {
    for (const tunnel of session.tunnels.values()) if (tunnel.ref === ref) await this.#endTunnel(tunnel);
  }

  /** Traffic can no longer reach it, so it is not listed; its names are kept for a resume. */
  #wentOffline(session: AgentSession, reason: string | null): void {
    for (const tunnel of session.tunnels.values()) this.#table.remove(tunnel);
    void this.#presence.unlistSession(session);
    for (const tunnel of session.tunnels.values()) this.#ports.events.tunnelStopped(tunnel.id);
    this.#ports.events.sessionStopped(session.id);
    this.#ports.log.info({ session: session.id, why: reason }, 'an agent went offline');
    session.offlineTimer = setTimeout(() => {
      void this.#endSession(session, null, 'the agent did not reconnect in time');
    }, RESUME_WITHIN_MS).unref();
  }

  async #endSession(session: AgentSession, code: string | null, reason: string, retry = false): Promise<void> {
    if (session.isEnded) return;
    const wasOnline = session.isOnline;
    session.isEnded = true;
    if (session.offlineTimer !== null) clearTimeout(session.offlineTimer);
    this.#sessions.delete(session.id);
    for (const tunnel of session.tunnels.values()) this.#takeDown(tunnel);
    if (wasOnline) {
      await this.#presence.unlistSession(session);
      for (const tunnel of session.tunnels.values()) this.#ports.events.tunnelStopped(tunnel.id);
      this.#ports.events.sessionStopped(session.id);
      this.#ports.log.info({ session: session.id, why: reason }, 'an agent is gone');
    }
    for (const connection of [...session.connections]) {
      if (code === null) connection.close();
      else connection.refuse(code, reason, retry);
    }
  }

  async #endTunnel(tunnel: BoundTunnel): Promise<void> {
    tunnel.session.tunnels.delete(tunnel.id);
    const wasOnline = this.#table.get(tunnel.id) === tunnel;
    if (wasOnline) await this.#presence.unlistTunnels([tunnel]);
    this.#takeDown(tunnel);
    if (wasOnline) this.#ports.events.tunnelStopped(tunnel.id);
  }

  #takeDown(tunnel: BoundTunnel): void {
    this.#table.remove(tunnel);
    if (tunnel.host !== null) this.#names.release(tunnel.host, tunnel);
    if (tunnel.endpointId !== null) this.#ports.endpoints.withdraw(tunnel.endpointId);
  }

  /** Requests of a session are executed in order; a failure closes the connection, not the process. */
  #inTurn(session: AgentSession, task: () => Promise<void>): void {
    session.work = session.work.then(task).catch((err: unknown) => {
      this.#ports.log.error({ err, session: session.id }, 'failed to process a request of an agent');
      for (const connection of session.connections) connection.fail('the server has an internal error');
    });
  }
}
