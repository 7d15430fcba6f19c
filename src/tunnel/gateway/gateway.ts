import type { TLSSocket } from 'node:tls';
import { peerOf } from '../../kit/net/arriving-clients.ts';
import { WaitingStrangers } from '../../kit/net/shared-places.ts';
import type { AgentFigures } from '../../proxy/telemetry/live/installation-tunnels.ts';
import type { AgentMessage } from '../protocol/messages.ts';
import { Admission, HomeAdmission } from './admission.ts';
import { AgentConnection, agentFigures, untilIdle } from './agent-connection.ts';
import { AgentRequests, type CommandOutcome, SentCommands } from './agent-requests.ts';
import { type AgentSession, ALWAYS, type ConnectionHandler, type LocalConnection } from './agent-session.ts';
import { ConnectionSpread } from './connection-spread.ts';
import { Enrollment } from './enrollment.ts';
import { GatewayNodes } from './nodes/gateway-nodes.ts';
import { onlineKeys } from './online-tunnel-table.ts';
import type { ClusterPorts, GatewayCounts, GatewayPorts } from './ports.ts';
import { Announcements, Presence } from './presence.ts';
import { alsoInWorkers, NO_COPIES, SessionLife } from './session-life.ts';
import { applyCredentialChange, TunnelBinder } from './tunnel-binder.ts';
import { HeldNames, NO_RECORDS, OWN_CLAIMS, TunnelNames, TunnelPorts } from './tunnel-names.ts';

interface OwnSessionsParts {
  readonly ports: GatewayPorts;
  readonly sessions: Map<string, AgentSession>;
  readonly heldNames: HeldNames;
  readonly presence: Presence;
  readonly commands: SentCommands;
  /** Null: there are no other nodes. */
  readonly nodes: GatewayNodes | null;
  /** The connection belongs to the session from now on. */
  readonly registered: (connection: LocalConnection, session: AgentSession) => void;
  readonly isLeaving: () => boolean;
}

/** Decides about the sessions of this node: who may have one, how it lives, which names and ports it has. */
class OwnSessions {
  readonly life: SessionLife;
  readonly names: TunnelNames;
  readonly tcpPorts: TunnelPorts;
  readonly binder: TunnelBinder;
  readonly requests: AgentRequests;
  readonly home: HomeAdmission;
  readonly admission: Admission;

  constructor({ ports, sessions, heldNames, presence, commands, nodes, registered, isLeaving }: OwnSessionsParts) {
    const { region, entryRules, bootId, announcer = null } = ports;
    const claims = nodes?.claims ?? OWN_CLAIMS;
    const records = nodes?.records ?? NO_RECORDS;
    const life = new SessionLife({
      ...{ ports, sessions, heldNames, presence, claims, records },
      announcements: new Announcements(announcer, bootId, { region, entryRules }),
      copies: nodes === null ? NO_COPIES : alsoInWorkers(nodes.copies, ports.workers),
    });
    const replace = (session: AgentSession, reason: string): Promise<void> =>
      life.end(session, 'ERR_POSTERN_AGENT_REPLACED', reason, session.isSentAway);
    this.life = life;
    this.names = new TunnelNames(heldNames, {
      domain: ports.domain,
      identityHostname: ports.identityHostname ?? null,
      isCoveredByEdge: (host) => ports.endpoints.isCoveredByEdge(host),
      endSession: (session, reason) => void replace(session, reason),
      endTunnel: (tunnel) => void life.endTunnel(tunnel),
    });
    this.tcpPorts = new TunnelPorts({
      sessions: () => sessions.values(),
      endSession: replace,
      endTunnel: (tunnel) => life.endTunnel(tunnel),
    });
    const { names, tcpPorts } = this;
    this.binder = new TunnelBinder({ ports, names, heldNames, tcpPorts, claims, life });
    this.requests = new AgentRequests({ ports, binder: this.binder, life, commands });
    this.home = new HomeAdmission({ ports, life, presence, records, registered });
    this.admission = new Admission({
      ...{ ports, life, home: this.home, records },
      elsewhere: nodes?.elsewhere ?? null,
      right: nodes?.right ?? ALWAYS,
      isClosing: isLeaving,
      nodeFields: () => nodes?.others.fields() ?? {},
    });
  }
}

/** Connections that have not identified themselves. */
const MAX_UNKNOWN = 2_000;

/** The server's end of tunnels: connected agents and their tunnels. */
export class Gateway implements ConnectionHandler {
  readonly #ports: GatewayPorts;
  readonly #sessions = new Map<string, AgentSession>();
  readonly #heldNames = new HeldNames();
  readonly #commands = new SentCommands();
  /** Null: it has not sent hello yet. */
  readonly #connections = new Map<LocalConnection, AgentSession | null>();
  /** The unidentified ones, oldest first. */
  readonly #unknown = new WaitingStrangers<LocalConnection>(MAX_UNKNOWN);
  /** Connections whose hello is being checked. */
  readonly #judged = new WeakSet<LocalConnection>();
  readonly #presence: Presence;
  readonly #nodes: GatewayNodes | null;
  readonly #own: OwnSessions;
  readonly #enrollment: Enrollment;
  readonly #spread: ConnectionSpread;
  readonly #unsubscribe: () => void;
  #isDraining = false;
  #isSendingAway = false;

  constructor(ports: GatewayPorts) {
    const { presence: store, clock, bootId, region, entryRules, log, cluster } = ports;
    const isLeaving = (): boolean => this.#isDraining || this.#isSendingAway;
    this.#ports = ports;
    this.#presence = new Presence({
      ...{ store, clock, bootId, region, entryRules },
      sessions: () => this.#sessions.values(),
      // Other nodes hear of it directly.
      isEssential: cluster === undefined,
      onProblem: (err) => log.error({ err }, 'failed to write which agents are online'),
    });
    this.#nodes = cluster === undefined ? null : this.#openNodes(cluster, isLeaving);
    this.#own = new OwnSessions({
      ...{ ports, sessions: this.#sessions, heldNames: this.#heldNames, presence: this.#presence },
      ...{ commands: this.#commands, nodes: this.#nodes, isLeaving },
      registered: (connection, session) => this.#registered(connection, session),
    });
    this.#enrollment = new Enrollment(ports, isLeaving);
    this.#spread = new ConnectionSpread(() => this.#connections, ports.workers?.count ?? 1);
    this.#unsubscribe = ports.credentials.onChange((credentialId) => this.#credentialChanged(credentialId));
  }

  /** Other nodes and this one ask each other about sessions: what they ask of this one is there by then. */
  #openNodes(cluster: ClusterPorts, isLeaving: () => boolean): GatewayNodes {
    return new GatewayNodes({
      ...{ ports: this.#ports, cluster, presence: this.#presence, commands: this.#commands },
      heldNames: this.#heldNames,
      life: () => this.#own.life,
      names: () => this.#own.names,
      tcpPorts: () => this.#own.tcpPorts,
      requests: () => this.#own.requests,
      admission: () => this.#own.home,
      // Strangers learn no address, and an agent expects its welcome first.
      connections: () => this.#connections.keys().filter((each) => this.#connections.get(each) !== null),
      registered: (connection, session) => this.#registered(connection, session),
      commandHere: (sessionId, command) => this.#commandHere(sessionId, command),
      isLeaving,
    });
  }

  #credentialChanged(credentialId: string): void {
    const { life, binder } = this.#own;
    applyCredentialChange(credentialId, this.#ports.credentials.get(credentialId), {
      sessions: () => [...this.#sessions.values()],
      isAllowed: (tunnel, acl) => binder.isAllowed(tunnel, acl),
      endSession: (session, code, reason) => void life.end(session, code, reason),
      cutCopy: (session, code, reason) => this.#nodes?.holders.cut(session, { code, reason, retry: false }),
      endTunnel: (tunnel) => void life.endTunnel(tunnel),
    });
  }

  get counts(): GatewayCounts {
    return {
      connections: this.#connections.size,
      unknown: this.#unknown.size,
      sessions: this.#sessions
        .values()
        .filter(({ home }) => home === null)
        .toArray().length,
      tunnels: this.#ports.table.size,
    };
  }

  /** Latency and traffic of the agents that are connected here. */
  agentFigures(): Iterable<AgentFigures | null> {
    return agentFigures(this.#sessions.values());
  }

  /** Online sessions that this node still decides about. */
  get unmoved(): number {
    let count = 0;
    for (const { home, isOnline } of this.#sessions.values()) if (home === null && isOnline) count += 1;
    return count;
  }

  /** Names of tunnels that an edge with this host, which may be a wildcard, would take over. */
  namesUnder(host: string): readonly string[] {
    return [...new Set([...this.#heldNames.under(host), ...(this.#nodes?.namesUnder(host) ?? [])])];
  }

  /** Takes over a connection after its TLS handshake. */
  accept(socket: TLSSocket, remoteAddress: string = peerOf(socket).address): void {
    this.arrived(new AgentConnection(socket, this, remoteAddress));
  }

  /** A connection that has not said hello. */
  arrived(connection: LocalConnection): void {
    this.#connections.set(connection, null);
    // An agent sends hello at once.
    this.#unknown.add(connection, connection.remoteAddress)?.fail('too many unauthenticated connections');
  }

  /** Moves connections to a worker that has none of their agent. */
  spread(): void {
    if (!this.#isDraining && !this.#isSendingAway) this.#spread.begin();
  }

  /** Sends the command, wherever the session is; resolves once the agent has responded. */
  command(sessionId: string, command: 'stop' | 'restart' | 'update'): Promise<CommandOutcome> {
    const isHere = this.#sessions.get(sessionId)?.home === null;
    if (isHere || this.#nodes === null) return this.#commandHere(sessionId, command);
    return this.#nodes.calls.command(sessionId, command);
  }

  /** Another process takes over: asks agents to connect again, which leads them there. Returns their tunnels. */
  sendAway(): readonly string[] {
    this.#isSendingAway = true;
    this.#spread.stop();
    for (const session of this.#sessions.values()) session.isSentAway = true;
    for (const connection of this.#connections.keys()) connection.sendAway();
    this.#nodes?.startHandingOver();
    return this.onlineTunnels();
  }

  /** The other process failed: agents that come back are welcome. */
  takeBack(): void {
    this.#isSendingAway = false;
    this.#nodes?.stopHandingOver();
  }

  onlineTunnels(): readonly string[] {
    return onlineKeys(this.#sessions.values());
  }

  /**
   * Tells agents to connect elsewhere; requests in progress may finish for up to `timeoutMs`. Before the rest is cut,
   * `onTimeout` may close it cleanly.
   */
  async drain(timeoutMs: number, onTimeout?: () => Promise<void>): Promise<void> {
    this.#isDraining = true;
    this.#spread.stop();
    for (const connection of this.#connections.keys()) connection.drain();
    if (!(await untilIdle(() => this.#connections.keys(), timeoutMs))) await onTimeout?.();
    this.#unsubscribe();
    await this.#nodes?.handOverAll();
    const mine = [...this.#sessions.values()].filter(({ home }) => home === null);
    await Promise.all(
      mine.map((session) =>
        this.#own.life.end(session, 'ERR_POSTERN_GATEWAY_DRAINING', 'the server is being stopped', true),
      ),
    );
    for (const connection of this.#connections.keys()) connection.fail('the server is being stopped');
    this.#presence.close();
    this.#nodes?.close();
  }

  onMessage(connection: LocalConnection, message: AgentMessage): void {
    const session = this.#connections.get(connection) ?? null;
    if (session === null) {
      if (message.t !== 'hello' && message.t !== 'enroll') {
        connection.fail('the first message of an agent must be hello');
      } else if (this.#judged.has(connection)) connection.fail('the agent sent hello twice');
      else {
        this.#judged.add(connection);
        const judging =
          message.t === 'hello'
            ? this.#own.admission.hello(connection, message)
            : this.#enrollment.enroll(connection, message);
        judging.catch((err: unknown) => {
          this.#ports.log.error({ err }, 'failed to admit an agent');
          connection.fail('the server has an internal error');
        });
      }
      return;
    }
    if (message.t === 'hello' || message.t === 'enroll') connection.fail('the agent sent hello twice');
    else if (session.home === null) this.#own.requests.carryOut(session, connection, message);
    else this.#nodes?.holders.relay(session, connection, message);
  }

  onClosed(connection: LocalConnection, reason: string | null): void {
    const session = this.#connections.get(connection) ?? null;
    this.#connections.delete(connection);
    this.#commands.lost(connection);
    if (session === null) {
      this.#unknown.delete(connection);
      if (reason !== null) this.#ports.log.warn({ ip: connection.remoteAddress, why: reason }, 'rejected an agent');
      return;
    }
    this.#own.life.closed(connection, session, reason);
    if (session.home !== null) this.#nodes?.holders.closed(session, connection);
  }

  #commandHere(sessionId: string, command: 'stop' | 'restart' | 'update'): Promise<CommandOutcome> {
    const [connection] = this.#sessions.get(sessionId)?.connections ?? [];
    return connection === undefined ? Promise.resolve('unreachable') : this.#commands.send(connection, command);
  }

  #registered(connection: LocalConnection, session: AgentSession): void {
    this.#connections.set(connection, session);
    this.#unknown.delete(connection);
    connection.greeted();
  }
}
