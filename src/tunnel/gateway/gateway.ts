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
import type { GatewayCounts, GatewayPorts } from './ports.ts';
import { Announcements, Presence } from './presence.ts';
import { alsoInWorkers, NO_COPIES, SessionLife } from './session-life.ts';
import { applyCredentialChange, TunnelBinder } from './tunnel-binder.ts';
import { NO_RECORDS, OWN_CLAIMS, TunnelNames, TunnelPorts } from './tunnel-names.ts';

/** Connections that have not identified themselves. */
const MAX_UNKNOWN = 2_000;

/** The server's end of tunnels: connected agents and their tunnels. */
export class Gateway implements ConnectionHandler {
  readonly #ports: GatewayPorts;
  readonly #presence: Presence;
  readonly #names: TunnelNames;
  readonly #tcpPorts: TunnelPorts;
  readonly #life: SessionLife;
  readonly #requests: AgentRequests;
  readonly #admission: Admission;
  readonly #enrollment: Enrollment;
  readonly #nodes: GatewayNodes | null;
  readonly #commands = new SentCommands();
  /** Null: it has not sent hello yet. */
  readonly #connections = new Map<LocalConnection, AgentSession | null>();
  /** The unidentified ones, oldest first. */
  readonly #unknown = new WaitingStrangers<LocalConnection>(MAX_UNKNOWN);
  /** Connections whose hello is being checked. */
  readonly #judged = new WeakSet<LocalConnection>();
  readonly #spread: ConnectionSpread;
  readonly #unsubscribe: () => void;
  #isDraining = false;
  #isSendingAway = false;

  constructor(ports: GatewayPorts) {
    const { presence: store, clock, bootId, region, entryRules, log, announcer = null } = ports;
    this.#ports = ports;
    const presence = new Presence({
      store,
      clock,
      bootId,
      region,
      entryRules,
      sessions: () => this.#life.all.values(),
      // Other nodes hear of it directly.
      isEssential: ports.cluster === undefined,
      onProblem: (err) => log.error({ err }, 'failed to write which agents are online'),
    });
    this.#presence = presence;
    const { cluster } = ports;
    const nodes =
      cluster === undefined
        ? null
        : new GatewayNodes({
            ...{ ports, cluster, presence, commands: this.#commands },
            life: () => this.#life,
            names: () => this.#names,
            tcpPorts: () => this.#tcpPorts,
            requests: () => this.#requests,
            admission: () => home,
            // Strangers learn no address, and an agent expects its welcome first.
            connections: () => this.#connections.keys().filter((each) => this.#connections.get(each) !== null),
            registered: (connection, session) => this.#registered(connection, session),
            commandHere: (sessionId, command) => this.#commandHere(sessionId, command),
            isLeaving: () => this.#isDraining || this.#isSendingAway,
          });
    this.#nodes = nodes;
    const claims = nodes?.claims ?? OWN_CLAIMS;
    const records = nodes?.records ?? NO_RECORDS;
    const life = new SessionLife({
      ports,
      names: () => this.#names,
      presence,
      announcements: new Announcements(announcer, bootId, { region, entryRules }),
      claims,
      records,
      copies: nodes === null ? NO_COPIES : alsoInWorkers(nodes.copies, ports.workers),
    });
    this.#life = life;
    this.#names = new TunnelNames({
      domain: ports.domain,
      identityHostname: ports.identityHostname ?? null,
      isCoveredByEdge: (host) => ports.endpoints.isCoveredByEdge(host),
      endSession: (session, reason) => void life.end(session, 'ERR_POSTERN_AGENT_REPLACED', reason, session.isSentAway),
      endTunnel: (tunnel) => void life.endTunnel(tunnel),
    });
    const tcpPorts = new TunnelPorts({
      sessions: () => life.all.values(),
      endSession: (session, reason) => life.end(session, 'ERR_POSTERN_AGENT_REPLACED', reason, session.isSentAway),
      endTunnel: (tunnel) => life.endTunnel(tunnel),
    });
    this.#tcpPorts = tcpPorts;
    const binder = new TunnelBinder({ ports, names: this.#names, tcpPorts, claims, life });
    this.#requests = new AgentRequests({ ports, binder, life, commands: this.#commands });
    const home = new HomeAdmission({
      ports,
      life,
      presence,
      records,
      registered: (connection, session) => this.#registered(connection, session),
    });
    this.#admission = new Admission({
      ports,
      life,
      home,
      records,
      elsewhere: nodes?.elsewhere ?? null,
      right: nodes?.right ?? ALWAYS,
      isClosing: () => this.#isDraining || this.#isSendingAway,
      nodeFields: () => nodes?.others.fields() ?? {},
    });
    this.#enrollment = new Enrollment(ports, () => this.#isDraining || this.#isSendingAway);
    this.#spread = new ConnectionSpread(() => this.#connections, ports.workers?.count ?? 1);
    this.#unsubscribe = ports.credentials.onChange((credentialId) =>
      applyCredentialChange(credentialId, ports.credentials.get(credentialId), {
        sessions: () => [...life.all.values()],
        isAllowed: (tunnel, acl) => binder.isAllowed(tunnel, acl),
        endSession: (session, code, reason) => void life.end(session, code, reason),
        cutCopy: (session, code, reason) => nodes?.holders.cut(session, { code, reason, retry: false }),
        endTunnel: (tunnel) => void life.endTunnel(tunnel),
      }),
    );
  }

  get counts(): GatewayCounts {
    return {
      connections: this.#connections.size,
      unknown: this.#unknown.size,
      sessions: this.#life.all
        .values()
        .filter(({ home }) => home === null)
        .toArray().length,
      tunnels: this.#ports.table.size,
    };
  }

  /** Latency and traffic of the agents that are connected here. */
  agentFigures(): Iterable<AgentFigures | null> {
    return agentFigures(this.#life.all.values());
  }

  /** Online sessions that this node still decides about. */
  get unmoved(): number {
    let count = 0;
    for (const { home, isOnline } of this.#life.all.values()) if (home === null && isOnline) count += 1;
    return count;
  }

  /** Names of tunnels that an edge with this host, which may be a wildcard, would take over. */
  namesUnder(host: string): readonly string[] {
    return [...new Set([...this.#names.under(host), ...(this.#nodes?.namesUnder(host) ?? [])])];
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
    const isHere = this.#life.all.get(sessionId)?.home === null;
    if (isHere || this.#nodes === null) return this.#commandHere(sessionId, command);
    return this.#nodes.calls.command(sessionId, command);
  }

  /** Another process takes over: asks agents to connect again, which leads them there. Returns their tunnels. */
  sendAway(): readonly string[] {
    this.#isSendingAway = true;
    this.#spread.stop();
    for (const session of this.#life.all.values()) session.isSentAway = true;
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
    return onlineKeys(this.#life.all.values());
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
    const mine = [...this.#life.all.values()].filter(({ home }) => home === null);
    await Promise.all(
      mine.map((session) =>
        this.#life.end(session, 'ERR_POSTERN_GATEWAY_DRAINING', 'the server is being stopped', true),
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
            ? this.#admission.hello(connection, message)
            : this.#enrollment.enroll(connection, message);
        judging.catch((err: unknown) => {
          this.#ports.log.error({ err }, 'failed to admit an agent');
          connection.fail('the server has an internal error');
        });
      }
      return;
    }
    if (message.t === 'hello' || message.t === 'enroll') connection.fail('the agent sent hello twice');
    else if (session.home === null) this.#requests.carryOut(session, connection, message);
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
    this.#life.closed(connection, session, reason);
    if (session.home !== null) this.#nodes?.holders.closed(session, connection);
  }

  #commandHere(sessionId: string, command: 'stop' | 'restart' | 'update'): Promise<CommandOutcome> {
    const [connection] = this.#life.all.get(sessionId)?.connections ?? [];
    return connection === undefined ? Promise.resolve('unreachable') : this.#commands.send(connection, command);
  }

  #registered(connection: LocalConnection, session: AgentSession): void {
    this.#connections.set(connection, session);
    this.#unknown.delete(connection);
    connection.greeted();
  }
}
