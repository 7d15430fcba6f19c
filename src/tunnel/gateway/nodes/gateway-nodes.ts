import { atMost } from '../../../kit/async/waiting.ts';
import type { Welcome } from '../../protocol/messages.ts';
import { MAX_OTHER_NODES } from '../../protocol/protocol.ts';
import type { HomeAdmission } from '../admission.ts';
import type { AgentRequests, CommandOutcome, SentCommands } from '../agent-requests.ts';
import { type AgentSession, type LocalConnection, nameKey, portKey } from '../agent-session.ts';
import type { ClusterPorts, GatewayPorts } from '../ports.ts';
import type { Presence } from '../presence.ts';
import type { SessionLife } from '../session-life.ts';
import type { HeldNames, TunnelNames, TunnelPorts } from '../tunnel-names.ts';
import { Elsewhere } from './elsewhere.ts';
import { GrantRenewals } from './grant-renewals.ts';
import { HolderSide } from './holder-side.ts';
import { HomeSide, holdersOf } from './home-side.ts';
import { SessionCalls, type SessionCommand } from './session-calls.ts';
import { LeaseRecovery, SessionMoves } from './session-moves.ts';
import { ReservedNames, StoredClaims } from './stored-claims.ts';
import { StoredSessions } from './stored-sessions.ts';

type OtherNode = NonNullable<Welcome['nodes']>[number];

/** Tells agents which node they are connected to, and where else they may dial. */
class OtherNodes {
  readonly #membership: ClusterPorts['membership'];
  readonly #stop: () => void;
  #told: string;

  constructor(membership: ClusterPorts['membership'], connections: () => Iterable<LocalConnection>) {
    this.#membership = membership;
    this.#told = JSON.stringify(this.#list());
    this.#stop = membership.onChange(() => {
      const nodes = this.#list();
      const text = JSON.stringify(nodes);
      if (text === this.#told) return;
      this.#told = text;
      for (const connection of connections()) connection.send({ t: 'nodes', nodes });
    });
  }

  /** For `welcome`. */
  fields(): { readonly node: { readonly id: string; readonly name: string }; readonly nodes: OtherNode[] } {
    const { id, name } = this.#membership.self;
    return { node: { id, name }, nodes: this.#list() };
  }

  close(): void {
    this.#stop();
  }

  #list(): OtherNode[] {
    return this.#membership
      .nodes()
      .filter(
        ({ id, status, roles }) => id !== this.#membership.self.id && status === 'ready' && roles.includes('gateway'),
      )
      .slice(0, MAX_OTHER_NODES)
      .map(({ id, name, tunnelAddress }) => ({ id, name, address: tunnelAddress }));
  }
}

/** How long a session of a leaving node may take to move. */
const HAND_OVER_WITHIN_MS = 3_000;
/** A hand-over fails while the store or the other node is busy. */
const HAND_OVER_EVERY_MS = 200;

interface GatewayNodesParts {
  readonly ports: GatewayPorts;
  readonly cluster: ClusterPorts;
  readonly presence: Presence;
  readonly commands: SentCommands;
  readonly heldNames: HeldNames;
  readonly life: () => SessionLife;
  readonly names: () => TunnelNames;
  readonly tcpPorts: () => TunnelPorts;
  readonly requests: () => AgentRequests;
  readonly admission: () => HomeAdmission;
  connections(): Iterable<LocalConnection>;
  registered(connection: LocalConnection, session: AgentSession): void;
  commandHere(sessionId: string, command: SessionCommand): Promise<CommandOutcome>;
  /** Whether this node is leaving: sessions then move to the nodes that their agents connected to. */
  isLeaving(): boolean;
}

/** The gateway's part in an installation of several nodes. */
export class GatewayNodes {
  readonly claims: StoredClaims;
  readonly records: StoredSessions;
  readonly copies: HomeSide;
  readonly holders: HolderSide;
  readonly elsewhere: Elsewhere;
  readonly right: LeaseRecovery;
  readonly calls: SessionCalls;
  readonly others: OtherNodes;
  readonly #moves: SessionMoves;
  readonly #grantRenewals: GrantRenewals;
  readonly #stopWatching: () => void;
  #leaving: NodeJS.Timeout | null = null;
  readonly #parts: GatewayNodesParts;

  constructor(parts: GatewayNodesParts) {
    this.#parts = parts;
    const { ports, cluster, life, names, heldNames, requests, presence, commands } = parts;
    const onProblem = (err: unknown): void =>
      ports.log.warn({ err }, 'failed to write to the store which node has which agents');
    this.right = new LeaseRecovery({ ports, cluster, life, moves: () => this.#moves });
    this.claims = new StoredClaims({
      ...cluster,
      hasTunnel: (id, key) => this.#hasTunnel(id, key),
      freeReserved: (session, holderId, key) => reserved.free(session, holderId, key),
      onProblem,
    });
    this.records = new StoredSessions({
      store: cluster.store,
      nodeId: cluster.membership.self.id,
      onProblem,
      onLost: (session) => void this.right.compareOne(session).catch(onProblem),
    });
    const reserved = new ReservedNames({ life, claims: () => this.claims, records: this.records });
    this.copies = new HomeSide({
      cluster,
      life,
      admission: parts.admission,
      requests,
      commands,
      right: this.right,
      onJoined: (session, nodeId) => {
        if (parts.isLeaving()) void this.#moves.handOver(session, nodeId);
      },
    });
    this.others = new OtherNodes(cluster.membership, () => parts.connections());
    this.holders = new HolderSide({
      ports,
      cluster,
      life,
      registered: (connection, session) => parts.registered(connection, session),
      nodeFields: () => this.others.fields(),
      onTaken: (session, epoch, from, line) => this.#moves.taken(session, epoch, from, line),
      onMoved: (session, to) => void this.#moves.rejoin(session, to),
    });
    this.#moves = new SessionMoves({
      ...{ ports, cluster, life, heldNames, requests, presence },
      records: this.records,
      homeSide: this.copies,
      holderSide: () => this.holders,
      right: this.right,
    });
    this.#grantRenewals = new GrantRenewals({
      cluster,
      life,
      holderSide: () => this.holders,
      moves: () => this.#moves,
      onProblem,
    });
    const { holders: holderSide, right } = this;
    this.elsewhere = new Elsewhere({ cluster, life, holderSide, moves: this.#moves, right });
    this.calls = new SessionCalls({
      ...{ cluster, life, names, tcpPorts: parts.tcpPorts, reserved },
      claims: this.claims,
      commandHere: (sessionId, command) => parts.commandHere(sessionId, command),
    });
    // Every start of a process is another node.
    this.#stopWatching = cluster.membership.onChange(() => this.#forgetGone());
  }

  /** Names of tunnels on other nodes that an edge with this host, which may be a wildcard, would take over. */
  namesUnder(host: string): readonly string[] {
    const { directory } = this.#parts.cluster;
    const suffix = host.startsWith('*.') ? host.slice(1) : null;
    const isUnder = (name: string): boolean =>
      suffix === null ? name === host : name.endsWith(suffix) && !name.slice(0, -suffix.length).includes('.');
    const names = [...directory.sessions()].flatMap(({ id }) =>
      directory.tunnelsOf(id).flatMap(({ endpoint }) => endpoint?.host ?? []),
    );
    return names.filter(isUnder);
  }

  /** Hands sessions over to other nodes that their agents are connected to, now or soon. */
  startHandingOver(): void {
    void this.#handOverEach();
    this.#leaving ??= setInterval(() => void this.#handOverEach(), HAND_OVER_EVERY_MS).unref();
  }

  stopHandingOver(): void {
    if (this.#leaving !== null) clearInterval(this.#leaving);
    this.#leaving = null;
  }

  /** The last attempt to hand over all sessions. */
  async handOverAll(): Promise<void> {
    this.stopHandingOver();
    await atMost(this.#handOverEach(), HAND_OVER_WITHIN_MS, null);
  }

  close(): void {
    this.#stopWatching();
    this.stopHandingOver();
    this.#grantRenewals.close();
    this.others.close();
    this.holders.close();
    this.copies.close();
    this.claims.close();
    this.records.close();
  }

  #forgetGone(): void {
    const { membership, links } = this.#parts.cluster;
    const isGone = (nodeId: string): boolean => membership.get(nodeId) === undefined && links.get(nodeId) === undefined;
    this.holders.forgetGone(isGone);
    this.copies.forgetGone(isGone);
    this.#grantRenewals.forgetGone(isGone);
  }

  async #handOverEach(): Promise<void> {
    const moves = [...this.#parts.life().all.values()].map(async (session) => {
      const nodeId = session.home === null ? this.#successor(session) : null;
      if (nodeId !== null) await this.#moves.handOver(session, nodeId);
    });
    await Promise.allSettled(moves);
  }

  /** A node that has one of the session's connections; a node that is leaving only if there is no other. */
  #successor(session: AgentSession): string | null {
    const { membership, links } = this.#parts.cluster;
    const linked = [...holdersOf(session)].filter((nodeId) => links.get(nodeId) !== undefined);
    return linked.find((nodeId) => membership.get(nodeId)?.status === 'ready') ?? linked[0] ?? null;
  }

  #hasTunnel(sessionId: string, key: string): boolean {
    const session = this.#parts.life().all.get(sessionId);
    if (session === undefined || session.home !== null || session.isEnded) return false;
    if (session.tunnels.values().some(({ claimKeys }) => claimKeys.includes(key))) return true;
    return session.reserved.values().some(({ host, port }) => {
      if (host !== null) return nameKey(host) === key;
      return port !== null && portKey(port) === key;
    });
  }
}
