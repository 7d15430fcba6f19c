import type { JsonObject, JsonValue } from '../../../kit/json.ts';
import { PeerRefusal } from '../../nodes/links/peer-links.ts';
import { type AgentMessage, decodeGatewayMessage, type Welcome } from '../../protocol/messages.ts';
import type { SessionClaim } from '../admission.ts';
import type { AgentSession, BoundTunnel, LocalConnection } from '../agent-session.ts';
import type { GatewayErrorCode } from '../errors.ts';
import type { ClusterPorts, GatewayPorts } from '../ports.ts';
import type { SessionLife } from '../session-life.ts';
import type { ClaimRefusal } from '../tunnel-names.ts';
import { Grant } from './grant.ts';
import { joinMessage, stringsOf } from './join-message.ts';
import { copiedSession, copiedTunnel, Inbox, Outbox } from './session-lines.ts';

type Request = Exclude<AgentMessage, { t: 'hello' | 'enroll' }>;

interface Held {
  readonly number: number;
  /** Requests that the home has not answered or confirmed, in order: a new home carries them out. */
  readonly open: Map<string, Request>;
}

/** Connections of this node whose sessions have their home elsewhere, with the numbers that the home knows. */
class LocalConnections {
  readonly #byNumber = new Map<number, LocalConnection>();
  readonly #held = new Map<LocalConnection, Held>();
  #last = 0;

  number(connection: LocalConnection): number {
    const known = this.#held.get(connection);
    if (known !== undefined) return known.number;
    this.#last += 1;
    this.#held.set(connection, { number: this.#last, open: new Map() });
    this.#byNumber.set(this.#last, connection);
    return this.#last;
  }

  get(number: unknown): LocalConnection | undefined {
    return typeof number === 'number' ? this.#byNumber.get(number) : undefined;
  }

  delete(connection: LocalConnection): void {
    const held = this.#held.get(connection);
    this.#held.delete(connection);
    if (held !== undefined) this.#byNumber.delete(held.number);
  }

  opened(connection: LocalConnection, request: Request): void {
    this.#held.get(connection)?.open.set(keyOf(request), request);
  }

  /** The home has carried out the request. A bind counts as carried out when its answer arrives. */
  settled(connection: LocalConnection, key: string): void {
    this.#held.get(connection)?.open.delete(key);
  }

  /** Removes and returns the open requests, for a new home that carries them out. */
  takeOpen(connection: LocalConnection): readonly Request[] {
    const open = this.#held.get(connection)?.open;
    const requests = [...(open?.values() ?? [])];
    open?.clear();
    return requests;
  }
}

function keyOf(request: Request): string {
  return 'ref' in request ? `${request.t} ${request.ref}` : request.t;
}

const JOIN_WITHIN_MS = 5_000;
const CONFIRMED_WITHIN_MS = 30_000;

/** `leaseMs`: the rest of the new home's lease when the old home reported it. */
export interface NewHome {
  readonly home: string;
  readonly epoch: number;
  readonly leaseMs?: number;
}

interface HolderSideParts {
  readonly ports: Pick<GatewayPorts, 'endpoints' | 'log' | 'region'>;
  readonly cluster: ClusterPorts;
  readonly life: () => SessionLife;
  registered(connection: LocalConnection, session: AgentSession): void;
  nodeFields(): object;
  /** This node becomes the home: the old home handed the session over, and keeps the `connections` it lists. */
  onTaken(session: AgentSession, epoch: number, from: string, connections: JsonObject): void;
  /** Another node has become the home. */
  onMoved(session: AgentSession, to: NewHome): void;
}

/** Sessions of other homes that have connections here: a copy of each, whose requests the home carries out. */
export class HolderSide {
  readonly connections = new LocalConnections();
  readonly #parts: HolderSideParts;
  readonly #grants = new Map<string, Grant>();
  readonly #outboxes = new Map<string, Outbox>();
  readonly #inbox = new Inbox((line, nodeId) => this.#line(line, nodeId));

  constructor(parts: HolderSideParts) {
    this.#parts = parts;
    const { links } = parts.cluster;
    links.serve('session.send', (message, nodeId) => {
      this.#inbox.receive(message, nodeId);
      return Promise.resolve({});
    });
    links.serve('session.alive', async ({ connection, within_ms: withinMs }) => {
      const found = this.connections.get(connection);
      const isAlive = found !== undefined && typeof withinMs === 'number' && (await found.isAlive(withinMs));
      return { alive: isAlive };
    });
  }

  grantOf(homeId: string): Grant {
    const known = this.#grants.get(homeId);
    if (known !== undefined) return known;
    const grant = new Grant(homeId, this.#parts.cluster.membership);
    this.#grants.set(homeId, grant);
    return grant;
  }

  /** `unreachable`: the home did not answer. */
  async admit(
    connection: LocalConnection,
    sessionId: string,
    claim: SessionClaim,
    homeId: string,
  ): Promise<'admitted' | 'unknown' | 'unreachable' | ClaimRefusal> {
    const { cluster, life, ports } = this.#parts;
    const number = this.connections.number(connection);
    const message = joinMessage({ sessionId, number, remoteAddress: connection.remoteAddress }, claim);
    const askedAtMs = performance.now();
    try {
      const answer = await cluster.links.call(homeId, 'session.join', message, JOIN_WITHIN_MS);
      const session = life().all.get(sessionId);
      if (session === undefined || (session.home !== homeId && session.home !== null)) {
        this.outbox(homeId).push({ session: sessionId, connection: number, do: 'closed' });
        return this.#forget(connection);
      }
      this.grantOf(homeId).extend(askedAtMs, answer);
      if (connection.isClosed) {
        this.#push(session, { session: sessionId, connection: number, do: 'closed' });
        this.connections.delete(connection);
        return 'admitted';
      }
      session.local.push(connection);
      this.#parts.registered(connection, session);
      life().routeAll(session);
      const welcome = answer['welcome'] as unknown as Welcome;
      connection.send({ ...welcome, region: ports.region, ...this.#parts.nodeFields() });
      return 'admitted';
    } catch (error) {
      const outcome = this.#forget(connection);
      if (!(error instanceof PeerRefusal)) {
        // The home may have admitted the connection, and would count a connection that no node has.
        this.outbox(homeId).push({ session: sessionId, connection: number, do: 'closed' });
        return outcome;
      }
      if (error.code === 'ERR_POSTERN_AGENT_SESSION') return 'unknown';
      return { code: error.code as GatewayErrorCode, message: error.message, retry: true };
    }
  }

  /** Sends the request to the session's home. */
  relay(
    session: AgentSession,
    connection: LocalConnection,
    request: Exclude<AgentMessage, { t: 'hello' | 'enroll' }>,
  ): void {
    const box = this.outbox(session.home ?? '');
    const number = this.connections.number(connection);
    this.connections.opened(connection, request);
    box.push({ session: session.id, connection: number, do: 'request', message: request as unknown as JsonObject });
    if (request.t === 'bind') return;
    void box.confirmed(CONFIRMED_WITHIN_MS).then((isConfirmed) => {
      if (isConfirmed) this.connections.settled(connection, keyOf(request));
    });
  }

  closed(session: AgentSession, connection: LocalConnection): void {
    const number = this.connections.number(connection);
    this.connections.delete(connection);
    this.#push(session, { session: session.id, connection: number, do: 'closed' });
    if (session.local.length === 0) this.drop(session);
  }

  /** Forgets the copy. The caller closes the connections. */
  drop(session: AgentSession): void {
    const { life } = this.#parts;
    for (const tunnel of [...session.tunnels.values()]) this.#dropTunnel(tunnel);
    if (life().all.get(session.id) === session) life().all.delete(session.id);
    session.isEnded = true;
    life().routeAll(session);
  }

  /** Makes the agent connect again, so that it finds the node that has the session now. */
  sendBack(session: AgentSession, reason: string): void {
    this.cut(session, { code: 'ERR_POSTERN_AGENT_SESSION', reason, retry: true });
  }

  cut(session: AgentSession, why: { readonly code: string; readonly reason: string; readonly retry: boolean }): void {
    const connections = [...session.local];
    this.drop(session);
    for (const connection of connections) connection.refuse(why.code, why.reason, why.retry);
  }

  /** The session's connections here, with the numbers by which another home knows them. */
  numbered(session: AgentSession): JsonObject[] {
    return session.local.map((connection) => ({
      number: this.connections.number(connection),
      address: connection.remoteAddress,
    }));
  }

  outbox(homeId: string): Outbox {
    const known = this.#outboxes.get(homeId);
    if (known !== undefined) return known;
    const box = new Outbox({
      links: this.#parts.cluster.links,
      nodeId: homeId,
      method: 'session.message',
      onDropped: () => this.#outboxes.delete(homeId),
    });
    this.#outboxes.set(homeId, box);
    return box;
  }

  /** The home is gone for good: the next home carries out the requests that were not sent. */
  forgetHome(homeId: string): void {
    this.#grants.delete(homeId);
    const box = this.#outboxes.get(homeId);
    this.#outboxes.delete(homeId);
    box?.drop();
  }

  /** Forgets nodes that are gone for good and are not the home of any session here. */
  forgetGone(isGone: (nodeId: string) => boolean): void {
    const homes = new Set([...this.#parts.life().all.values()].map(({ home }) => home));
    for (const homeId of [...this.#grants.keys()]) {
      if (!homes.has(homeId) && isGone(homeId)) this.forgetHome(homeId);
    }
    this.#inbox.forgetGone(isGone);
  }

  close(): void {
    for (const homeId of [...this.#outboxes.keys()]) this.forgetHome(homeId);
  }

  #push(session: AgentSession, line: JsonObject): void {
    if (session.home !== null) this.outbox(session.home).push(line);
  }

  #forget(connection: LocalConnection): 'unreachable' {
    this.connections.delete(connection);
    return 'unreachable';
  }

  #line(line: JsonObject, nodeId: string): void {
    const { life } = this.#parts;
    const id = line['session'];
    const known = typeof id === 'string' ? life().all.get(id) : undefined;
    if (line['do'] === 'session') {
      this.#copy(line, known, nodeId);
      return;
    }
    const connection = this.connections.get(line['connection']);
    if (connection !== undefined) this.#toAgent(connection, line);
    if (known === undefined || known.home !== nodeId) return;
    if (line['do'] === 'facts') copiedSession(line, known);
    else if (line['do'] === 'tunnel') this.#putTunnel(known, line);
    else if (line['do'] === 'untunnel') {
      const tunnel = known.tunnels.get(textOf(line['id']));
      if (tunnel !== undefined) this.#dropTunnel(tunnel);
    } else if (line['do'] === 'end') this.drop(known);
    else if (line['do'] === 'take') this.#parts.onTaken(known, Number(line['epoch']), nodeId, line);
    else if (line['do'] === 'moved') {
      const [home, epoch, leaseMs] = [textOf(line['home']), Number(line['epoch']), Number(line['lease_ms'] ?? 0)];
      this.#parts.onMoved(known, { home, epoch, leaseMs });
    }
  }

  #copy(line: JsonObject, known: AgentSession | undefined, nodeId: string): void {
    // A node that is no longer the session's home must not take the session back.
    if (known !== undefined && known.home !== nodeId && known.epoch >= Number(line['epoch'])) return;
    if (known !== undefined && known.home === null) return;
    const session = copiedSession(line, known);
    if (session === null) return;
    // Tunnels that the home has too are served without a pause while the home describes each of them.
    const kept = new Set(stringsOf(line['tunnels']));
    for (const tunnel of [...session.tunnels.values()]) if (!kept.has(tunnel.id)) this.#dropTunnel(tunnel);
    session.home = nodeId;
    session.right = this.grantOf(nodeId);
    this.#parts.life().all.set(session.id, session);
  }

  #putTunnel(session: AgentSession, line: JsonObject): void {
    const { ports, life } = this.#parts;
    const tunnel = copiedTunnel(session, line['tunnel']);
    if (tunnel === null) return;
    const isNew = !session.tunnels.has(tunnel.id);
    session.tunnels.set(tunnel.id, tunnel);
    tunnel.isListed = true;
    life().route(tunnel);
    const { endpointId, proto, host, port, modules } = tunnel;
    if (!isNew || endpointId === null || proto === null) return;
    ports.endpoints
      .publish({ id: endpointId, tunnelId: tunnel.id, proto, host, port, modules })
      .then((published) => {
        if (!published.ok) ports.log.warn({ tunnel: tunnel.id, why: published.message }, 'cannot serve a tunnel here');
        else if (session.tunnels.get(tunnel.id) !== tunnel) ports.endpoints.withdraw(endpointId);
      })
      .catch((err: unknown) => ports.log.error({ err, tunnel: tunnel.id }, 'failed to publish a tunnel'));
  }

  #dropTunnel(tunnel: BoundTunnel): void {
    tunnel.session.tunnels.delete(tunnel.id);
    tunnel.isListed = false;
    this.#parts.life().route(tunnel);
    if (tunnel.endpointId !== null) this.#parts.ports.endpoints.withdraw(tunnel.endpointId);
  }

  #toAgent(connection: LocalConnection, line: JsonObject): void {
    const reason = textOf(line['reason']);
    if (line['do'] === 'send') {
      const decoded = decodeGatewayMessage(JSON.stringify(line['message'] ?? null));
      if (!decoded.ok || !('message' in decoded)) return;
      const { message } = decoded;
      if (message.t === 'bound' || message.t === 'unbound') this.connections.settled(connection, `bind ${message.ref}`);
      connection.send(message);
    } else if (line['do'] === 'refuse') connection.refuse(textOf(line['code']), reason, line['retry'] === true);
    else if (line['do'] === 'fail') connection.fail(reason);
    else if (line['do'] === 'close') connection.close();
  }
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}
