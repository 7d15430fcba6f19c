import { setTimeout as sleep } from 'node:timers/promises';
import type { JsonObject } from '../../../kit/json.ts';
import { type PeerMessage, PeerRefusal } from '../../nodes/links/peer-links.ts';
import { decodeAgentMessage } from '../../protocol/messages.ts';
import type { HomeAdmission } from '../admission.ts';
import type { AgentRequests, SentCommands } from '../agent-requests.ts';
import type { AgentSession, BoundTunnel, RightToServe } from '../agent-session.ts';
import type { ClusterPorts } from '../ports.ts';
import type { SessionCopies, SessionLife } from '../session-life.ts';
import { leaseLeftMs } from './grant.ts';
import { decodeJoin, decodeRejoin, RemoteConnection, type RemoteConnectionFacts, stringsOf } from './join-message.ts';
import { Inbox, Outbox, sessionFields, tunnelFields } from './session-lines.ts';

/** How long a holder may serve after the home's last grant. */
export const GRANT_MS = 1_500;
/** The holder counts from before its question, so this margin is only for clocks that run at different speeds. */
const GRANT_MARGIN_MS = 100;
/** When a link is gone for longer, the home gives up the connections behind the link. */
const LOST_AFTER_MS = 3_000;
const STATE_WITHIN_MS = 2_000;
/** Ids in one line, of at most 256 KiB. A copy drops all other tunnels until the home describes each of them. */
const MAX_KEPT = 2_000;

interface HomeSideParts {
  readonly cluster: ClusterPorts;
  readonly life: () => SessionLife;
  readonly admission: () => HomeAdmission;
  readonly requests: () => AgentRequests;
  readonly commands: SentCommands;
  readonly right: RightToServe;
  /** Called when a connection on another node has joined: a leaving node hands the session over to that node. */
  onJoined(session: AgentSession, nodeId: string): void;
}

/** Sessions that this node decides about, and their connections on other nodes. */
export class HomeSide implements SessionCopies {
  readonly #parts: HomeSideParts;
  readonly #outboxes = new Map<string, Outbox>();
  readonly #inbox = new Inbox((line, nodeId) => this.#line(line, nodeId));
  /** When each holder got its last grant. */
  readonly #grantedAtMs = new Map<string, number>();
  /** Nodes that may still serve a session by a grant of its former home, and have not rejoined at this node yet. */
  readonly #inherited = new WeakMap<AgentSession, Set<string>>();

  constructor(parts: HomeSideParts) {
    this.#parts = parts;
    const { links } = parts.cluster;
    links.serve('session.find', (message) => Promise.resolve({ found: this.#atHome(message['session']) !== null }));
    links.serve('session.join', (message, nodeId) => this.#join(message, nodeId));
    links.serve('session.rejoin', (message, nodeId) => this.#rejoin(message, nodeId));
    links.serve('session.hold', (message, nodeId) => Promise.resolve(this.#hold(message, nodeId)));
    links.serve('session.message', (message, nodeId) => {
      this.#inbox.receive(message, nodeId);
      return Promise.resolve({});
    });
    links.onDown(({ nodeId }) => {
      this.#loseLater(nodeId);
    });
  }

  tunnelChanged(tunnel: BoundTunnel): void {
    const line = { session: tunnel.session.id, do: 'tunnel', tunnel: tunnelFields(tunnel) };
    for (const nodeId of holdersOf(tunnel.session)) this.outbox(nodeId).push(line);
  }

  tunnelGone(tunnel: BoundTunnel): Promise<void> {
    return this.#told(tunnel.session, { session: tunnel.session.id, do: 'untunnel', id: tunnel.id });
  }

  sessionEnded(session: AgentSession): Promise<void> {
    return this.#told(session, { session: session.id, do: 'end' });
  }

  sessionChanged(session: AgentSession): void {
    for (const nodeId of holdersOf(session)) this.outbox(nodeId).push({ ...sessionFields(session), do: 'facts' });
  }

  /** Describes a session to a node that gets a connection of the session or becomes its home. */
  tellState(session: AgentSession, nodeId: string): void {
    const box = this.outbox(nodeId);
    const tunnels = [...session.tunnels.values()].filter(({ isListed }) => isListed);
    const kept = tunnels.slice(0, MAX_KEPT).map(({ id }) => id);
    box.push({ ...sessionFields(session), do: 'session', tunnels: kept });
    for (const tunnel of tunnels) box.push({ session: session.id, do: 'tunnel', tunnel: tunnelFields(tunnel) });
  }

  /** A connection on another node as a connection of the session. */
  remoteConnection(facts: RemoteConnectionFacts): RemoteConnection {
    return new RemoteConnection(facts, {
      links: this.#parts.cluster.links,
      push: (line) => this.outbox(facts.nodeId).push(line),
      onClosed: (connection) => this.#closed(facts.sessionId, connection),
    });
  }

  /** This node becomes the home: grants of the former home to other nodes stay valid until they end. */
  inherit(session: AgentSession, nodeIds: readonly string[]): void {
    for (const nodeId of nodeIds) this.#grant(nodeId, true);
    this.#inherited.set(session, new Set(nodeIds));
  }

  outbox(nodeId: string): Outbox {
    const known = this.#outboxes.get(nodeId);
    if (known !== undefined) return known;
    const box = new Outbox({
      links: this.#parts.cluster.links,
      nodeId,
      method: 'session.send',
      onDropped: () => this.#loseNode(nodeId),
    });
    this.#outboxes.set(nodeId, box);
    return box;
  }

  /** Forgets nodes that are gone for good. */
  forgetGone(isGone: (nodeId: string) => boolean): void {
    for (const nodeId of [...this.#grantedAtMs.keys()]) if (isGone(nodeId)) this.#grantedAtMs.delete(nodeId);
    this.#inbox.forgetGone(isGone);
  }

  /** Drops all lines that no node has confirmed. */
  close(): void {
    const boxes = [...this.#outboxes.values()];
    this.#outboxes.clear();
    for (const box of boxes) box.drop();
  }

  #atHome(id: unknown): AgentSession | null {
    const session = typeof id === 'string' ? this.#parts.life().all.get(id) : undefined;
    return session === undefined || session.home !== null ? null : session;
  }

  async #join(message: PeerMessage, nodeId: string): Promise<PeerMessage> {
    const { admission, right } = this.#parts;
    const { facts, claim } = decodeJoin(message, nodeId);
    const session = this.#atHome(facts.sessionId);
    if (session === null || !admission().isOwner(session, claim)) throw noSession();
    const isNew = !holdersOf(session).has(nodeId);
    if (isNew) this.tellState(session, nodeId);
    const connection = this.remoteConnection(facts);
    const outcome = await admission().admit(session, connection, claim);
    if ('code' in outcome) throw new PeerRefusal(outcome.code, outcome.message);
    this.outbox(nodeId).push({ ...sessionFields(session), do: 'facts' });
    const isTold = await this.outbox(nodeId).confirmed(STATE_WITHIN_MS);
    if (!isTold || connection.isClosed || session.isEnded) {
      // The other node gives the connection up, so the connection must not count here.
      connection.lost();
      throw noSession();
    }
    const grant = this.#grant(nodeId, right.mayServe());
    queueMicrotask(() => this.#parts.onJoined(session, nodeId));
    return { welcome: outcome as unknown as JsonObject, ...grant };
  }

  /** Called by a node with connections of a session whose home this node has become. */
  async #rejoin(message: PeerMessage, nodeId: string): Promise<PeerMessage> {
    const { sessionId, connections } = decodeRejoin(message);
    const session = this.#atHome(sessionId);
    if (session === null) throw noSession();
    const had = new Set(session.remote.filter((each) => each.nodeId === nodeId).map(({ number }) => number));
    this.tellState(session, nodeId);
    this.#inherited.get(session)?.delete(nodeId);
    for (const { number, remoteAddress } of connections) {
      if (!had.has(number)) session.remote.push(this.remoteConnection({ nodeId, number, remoteAddress, sessionId }));
    }
    if (session.offlineTimer !== null && session.isOnline) {
      clearTimeout(session.offlineTimer);
      session.offlineTimer = null;
    }
    this.#parts.life().routeAll(session);
    await this.outbox(nodeId).confirmed(STATE_WITHIN_MS);
    return this.#grant(nodeId, this.#parts.right.mayServe());
  }

  /** A holder asks periodically. `gone`: sessions of which the holder has no connections here, or whose home moved. */
  #hold(message: PeerMessage, nodeId: string): PeerMessage {
    const gone = stringsOf(message['sessions']).filter((id) => {
      const session = this.#atHome(id);
      return session === null || !holdersOf(session).has(nodeId);
    });
    // A line that is not confirmed yet may take a tunnel away from the holder.
    const isTold = this.outbox(nodeId).isEmpty;
    return { gone, ...this.#grant(nodeId, isTold && this.#parts.right.mayServe()) };
  }

  #grant(nodeId: string, isAllowed: boolean): { readonly grant_ms: number; readonly lease_ms?: number } {
    if (!isAllowed) return { grant_ms: 0 };
    this.#grantedAtMs.set(nodeId, performance.now());
    const { membership } = this.#parts.cluster;
    const leftMs = Math.max(leaseLeftMs(membership, membership.self.id), membership.rightLeftMs());
    return { grant_ms: GRANT_MS, lease_ms: leftMs };
  }

  /** Resolves once every other node has confirmed the line, or no longer has a grant from here. */
  async #told(session: AgentSession, line: JsonObject): Promise<void> {
    const holders = holdersOf(session);
    const unjoined = [...(this.#inherited.get(session) ?? [])].filter((nodeId) => !holders.has(nodeId));
    const inherited = unjoined.map((nodeId) => sleep(this.#grantLeftMs(nodeId)));
    await Promise.all([
      ...inherited,
      ...[...holders].map(async (nodeId) => {
        const box = this.outbox(nodeId);
        box.push(line);
        const untilMs = performance.now() + this.#grantLeftMs(nodeId);
        if (await box.confirmed(Math.max(0, untilMs - performance.now()))) return;
        await sleep(Math.max(0, untilMs - performance.now()));
      }),
    ]);
  }

  #grantLeftMs(nodeId: string): number {
    const grantedAtMs = this.#grantedAtMs.get(nodeId);
    if (grantedAtMs === undefined) return 0;
    return Math.max(0, grantedAtMs + GRANT_MS + GRANT_MARGIN_MS - performance.now());
  }

  #line(line: JsonObject, nodeId: string): void {
    const session = this.#atHome(line['session']);
    const connection = session?.remote.find((each) => each.nodeId === nodeId && each.number === line['connection']);
    if (session === null || connection === undefined) return;
    if (line['do'] === 'closed') {
      if (connection instanceof RemoteConnection) connection.lost();
      return;
    }
    const decoded = decodeAgentMessage(JSON.stringify(line['message'] ?? null));
    if (!decoded.ok || !('message' in decoded)) return;
    const { message } = decoded;
    if (message.t !== 'hello' && message.t !== 'enroll') this.#parts.requests().carryOut(session, connection, message);
  }

  #closed(sessionId: string, connection: RemoteConnection): void {
    this.#parts.commands.lost(connection);
    const session = this.#parts.life().all.get(sessionId);
    const at = session?.remote.indexOf(connection) ?? -1;
    if (session === undefined || at === -1) return;
    session.remote.splice(at, 1);
    if (session.home !== null) return;
    this.#parts.life().lostOne(session, 'its connection on another node was lost');
    if (session.isOnline) this.#parts.life().routeAll(session);
  }

  /** A node without a link to this node may still renew its grant over a third node. */
  #loseLater(nodeId: string): void {
    const timer = setTimeout(() => {
      if (this.#parts.cluster.links.get(nodeId) !== undefined) return;
      if (this.#grantLeftMs(nodeId) > 0) this.#loseLater(nodeId);
      else this.#loseNode(nodeId);
    }, LOST_AFTER_MS);
    timer.unref();
  }

  #loseNode(nodeId: string): void {
    for (const session of this.#parts.life().all.values()) {
      for (const connection of [...session.remote]) {
        if (connection.nodeId === nodeId && connection instanceof RemoteConnection) connection.lost();
      }
    }
    const box = this.#outboxes.get(nodeId);
    this.#outboxes.delete(nodeId);
    if (box !== undefined && !box.isEmpty) box.drop();
  }
}

export function holdersOf({ remote }: AgentSession): ReadonlySet<string> {
  return new Set(remote.map(({ nodeId }) => nodeId));
}

function noSession(): PeerRefusal {
  return new PeerRefusal('ERR_POSTERN_AGENT_SESSION', 'the session to join does not exist');
}
