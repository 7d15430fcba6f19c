import { type ClientHttp2Stream, constants } from 'node:http2';
import type { Socket } from 'node:net';
import { until } from '../../../kit/async/waiting.ts';
import type { Clock } from '../../../kit/clock.ts';
import {
  guarded,
  ignoreErrors,
  type ListenerOwner,
  listen,
  listenOnce,
  reportBug,
} from '../../../kit/guarded-listeners.ts';
import { cancelStream, hasStreamEnd, watchStreamEnd } from '../../../kit/http2/stream-end.ts';
import type { ArrivedClient } from '../../../kit/net/arriving-clients.ts';
import { formatListenAddress } from '../../../kit/net/listen-address.ts';
import { type Shortage, shortageOfCode } from '../../../kit/net/shared-places.ts';
import { bufferPassed } from '../../../kit/net/waiting-bytes.ts';
import type { RawConnectionFacts } from '../../telemetry/traffic-facts.ts';
import { isSessionOver, REASON_OF_SHORTAGE } from '../../upstream/upstream-failure.ts';
import { type HeldResponse, LEAST_READ_BYTES } from '../http/stalled-responses.ts';
import { Stall } from '../http/sweep.ts';
import { awaitedTunnel, RetryWhileSuspended } from './awaited-tunnel.ts';
import type { AgentLink, OnlineTunnel, OnlineTunnels } from './online-tunnels.ts';
import { CLIENT_ADDRESS_HEADER, TUNNEL_ERROR_HEADER, TUNNEL_NODE_HEADER } from './stream-headers.ts';
import { knownReason } from './tunnel-failures.ts';

interface RawConnectionOptions {
  readonly socket: Socket;
  /** `ip:port`. */
  readonly clientAddress: string;
  /** The visitor's address, which has a share of the agent's streams. */
  readonly visitor?: string;
  readonly tunnel: OnlineTunnel | undefined;
  /** Whether this process may serve the tunnel now. Absent: always. */
  readonly mayServe?: () => boolean;
  /** How long the agent may take to reach its service. */
  readonly connectTimeoutMs: number;
  onOver(outcome: string): void;
}

/** Ways to the agent that one connection tries. */
const MAX_TRIES = 4;

/**
 * A client's connection as one CONNECT stream to the agent: bytes both ways, unchanged, each direction ended
 * separately. Perhaps *waiting* for the right to serve the tunnel → *asking* (the agent connects to its service) →
 * *carrying* → *over*, when both directions have ended or either end broke.
 */
export class RawConnection implements ListenerOwner, HeldResponse {
  /** Name of the node that passes it on to its agent; null when that is this one. */
  tunnelNode: string | null = null;
  readonly #socket: Socket;
  readonly #options: RawConnectionOptions;
  #stream: ClientHttp2Stream | null = null;
  #timer: NodeJS.Timeout | null = null;
  #retry: RetryWhileSuspended | null = null;
  /** A node that announces the tunnel did not take it. */
  #isRefusedByNode = false;
  /** Why another node or thread did not take it. */
  #shortage: Shortage | null = null;
  #tried: AgentLink[] | null = null;
  #isCarrying = false;
  #pace: Stall | null = null;
  #outcome: string | null = null;

  constructor(options: RawConnectionOptions) {
    const { socket } = options;
    this.#options = options;
    this.#socket = socket;
    // A client that has sent everything may still want to receive the rest.
    socket.allowHalfOpen = true;
    listen(socket, 'error', this, () => this.#end('client_gone'));
    listenOnce(socket, 'close', this, () => this.#socketClosed());
  }

  /** The one that has a share of the agent's streams. */
  get clientAddress(): string {
    return this.#options.visitor ?? this.#options.clientAddress;
  }

  heldForMs(nowMs: number): number {
    const { writableNeedDrain, writableLength, bytesWritten } = this.#socket;
    if (!writableNeedDrain && this.#pace === null) return 0;
    this.#pace ??= new Stall(LEAST_READ_BYTES);
    return this.#pace.lasts(writableNeedDrain, bytesWritten - writableLength, nowMs);
  }

  refuseUnsent(): void {
    this.#end('client_gone');
  }

  /** The agent accepted the connection. */
  get wasCarried(): boolean {
    return this.#isCarrying;
  }

  contain(error: unknown): void {
    reportBug(error, { part: 'raw connection', client_address: this.#options.clientAddress });
    this.#end('bug');
    this.#socket.destroy();
  }

  start(): void {
    this.#timer = setTimeout(
      guarded(this, () => this.#end('timeout')),
      this.#options.connectTimeoutMs,
    );
    if (!this.#askIfTaken()) this.#waitOr(() => this.#endUnserved());
  }

  /** One of the visitors who wait finds out whether the nodes with the agent still refuse. */
  #askIfTaken(): boolean {
    return this.#options.tunnel?.mayTry?.() !== false && this.#ask();
  }

  /** A way may open in a moment, or not. */
  #waitOr(giveUp: () => void): void {
    if (this.#isRefusedByNode) this.#options.tunnel?.refused?.();
    this.#isRefusedByNode = false;
    if (!this.#isSuspended || this.#shortage !== null) {
      giveUp();
      return;
    }
    this.#retry ??= new RetryWhileSuspended();
    this.#retry.await(this, {
      isSuspended: () => this.#isSuspended,
      attempt: () => {
        this.#tried = null;
        return this.#askIfTaken();
      },
      giveUp,
    });
  }

  /** Only the right to serve it is missing. */
  get #isSuspended(): boolean {
    const { tunnel } = this.#options;
    return tunnel !== undefined && (!this.#mayServe() || tunnel.isSuspended === true);
  }

  #mayServe(): boolean {
    return this.#options.mayServe?.() ?? true;
  }

  #endUnserved(): void {
    const { tunnel, visitor } = this.#options;
    const shortage = this.#shortage ?? tunnel?.shortage?.(visitor) ?? null;
    if (!this.#mayServe()) this.#end('node_isolated');
    else this.#end(shortage === null ? 'no_tunnel' : REASON_OF_SHORTAGE[shortage]);
  }

  /** False when no way to the agent is left. */
  #ask(): boolean {
    const { tunnel } = this.#options;
    if (!this.#mayServe()) return false;
    while (tunnel !== undefined && (this.#tried?.length ?? 0) < MAX_TRIES) {
      const link = tunnel.link(this.#tried ?? undefined, this.#options.visitor);
      if (link === null || this.#tried?.includes(link) === true) return false;
      if (this.#askOn(tunnel, link)) return true;
      this.#tried ??= [];
      this.#tried.push(link);
    }
    return false;
  }

  /** False when the connection to the agent ended just now. */
  #askOn(tunnel: OnlineTunnel, link: AgentLink): boolean {
    const head = [':method', 'CONNECT', ':authority', tunnel.id, CLIENT_ADDRESS_HEADER, this.#options.clientAddress];
    let stream: ClientHttp2Stream;
    try {
      stream = link.request(head, { endStream: false, waitForTrailers: false }, this.#options.visitor);
    } catch (error) {
      if (isSessionOver(error)) return false;
      throw error;
    }
    watchStreamEnd(stream);
    this.#stream = stream;
    this.tunnelNode = link.nodeName ?? null;
    tunnel.inFlight += 1;
    ignoreErrors(stream);
    listenOnce(stream, 'response', this, (headers: Readonly<Record<string, unknown>>) => {
      const node = link.relay === 'thread' ? headers[TUNNEL_NODE_HEADER] : undefined;
      if (typeof node === 'string') this.tunnelNode = node;
      if (headers[':status'] === 200) this.#carry(stream);
      else this.#end(knownReason(String(headers[TUNNEL_ERROR_HEADER])));
    });
    listenOnce(stream, 'close', this, () => {
      link.release(stream);
      tunnel.inFlight -= 1;
      if (this.#isCarrying || this.#outcome !== null || link.relay === undefined) this.#streamClosed(stream);
      else {
        const shortage = shortageOfCode(stream.rstCode);
        this.#shortage = shortage ?? this.#shortage;
        const isGone = stream.rstCode === constants.NGHTTP2_REFUSED_STREAM;
        const giveUp = (): void => (isGone || shortage !== null ? this.#endUnserved() : this.#end('agent_gone'));
        if (!this.#askElsewhere(link, isGone)) this.#waitOr(giveUp);
      }
    });
    return true;
  }

  /** Nothing was sent yet. A node that no longer has the tunnel refuses the stream, and a broken link to it is lost. */
  #askElsewhere(link: AgentLink, isGone: boolean): boolean {
    this.#isRefusedByNode ||= isGone && link.relay !== 'holder';
    this.#tried ??= [];
    this.#tried.push(link);
    return this.#ask();
  }

  /** The tunnel is withdrawn. */
  cut(outcome: string): void {
    this.#end(outcome);
  }

  #carry(stream: ClientHttp2Stream): void {
    this.#isCarrying = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    listen(this.#socket, 'data', this, passed);
    this.#socket.pipe(stream);
    listen(stream, 'data', this, passed);
    stream.pipe(this.#socket, { end: false });
    listenOnce(stream, 'end', this, () => {
      // A truncated stream also ends: forwarding that would make its client take a part for the whole.
      if (hasStreamEnd(stream)) this.#socket.end();
    });
  }

  /** After a clean end the agent's last bytes may still be in the socket's buffer. */
  #streamClosed(stream: ClientHttp2Stream): void {
    const isWhole = stream.rstCode === constants.NGHTTP2_NO_ERROR && stream.readableEnded && hasStreamEnd(stream);
    if (!isWhole) {
      this.#end('agent_gone');
      return;
    }
    this.#outcome ??= 'done';
    // The agent's service reads no more.
    if (!this.#socket.readableEnded) this.#socket.resume().destroySoon();
  }

  #socketClosed(): void {
    const isWhole = this.#socket.readableEnded && this.#socket.writableFinished;
    this.#end(isWhole ? 'done' : 'client_gone');
    this.#options.onOver(this.#outcome ?? 'done');
  }

  /** Breaks off both sides, so that either end notices the truncation. */
  #end(outcome: string): void {
    if (this.#outcome !== null) return;
    this.#outcome = outcome;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#retry?.stop();
    const stream = this.#stream;
    if (stream !== null && !stream.closed) {
      if (outcome === 'done') stream.close(constants.NGHTTP2_NO_ERROR);
      else cancelStream(stream);
    }
    // Unread data would keep the stream alive, with its share of the session's window.
    stream?.resume();
    // While its last bytes are in flight the system refuses a reset, and the runtime then closes nothing at all.
    if (this.#socket.writableEnded) this.#socket.destroy();
    else if (!this.#socket.destroyed) this.#socket.resetAndDestroy();
  }
}

function passed({ length }: Buffer): void {
  bufferPassed(length);
}

export interface RawEndpoint {
  readonly endpointId: string;
  readonly tunnelId: string;
  readonly proto: 'tcp' | 'tls';
  isAddressAllowed(address: string): boolean;
}

interface RawConnectionsOptions {
  readonly tunnels: OnlineTunnels;
  readonly mayServe: () => boolean;
  readonly clock: Clock;
  readonly connectTimeoutMs: number;
  onOpened(proto: 'tcp' | 'tls'): void;
  onClosed(facts: RawConnectionFacts): void;
}

/** Connections forwarded undecrypted, by endpoint. */
export class RawConnections {
  readonly #options: RawConnectionsOptions;
  readonly #byEndpoint = new Map<string, Set<RawConnection>>();
  #count = 0;

  constructor(options: RawConnectionsOptions) {
    this.#options = options;
  }

  get count(): number {
    return this.#count;
  }

  carry(endpoint: RawEndpoint, socket: Socket, { address, port, headerBytes }: ArrivedClient): void {
    const { endpointId, tunnelId, proto } = endpoint;
    const localAddress = `${socket.localAddress}:${socket.localPort}`;
    const { tunnels, clock, connectTimeoutMs } = this.#options;
    const clientAddress = formatListenAddress({ host: address, port });
    const startedAtMs = clock.nowMs();
    const startedAt = performance.now();
    this.#count += 1;
    this.#options.onOpened(proto);
    const tunnel = tunnels.get(tunnelId) ?? awaitedTunnel(tunnelId, tunnels) ?? undefined;
    const connection = new RawConnection({
      socket,
      clientAddress,
      visitor: address,
      tunnel,
      mayServe: this.#options.mayServe,
      connectTimeoutMs,
      onOver: (outcome) => {
        this.#remove(endpointId, connection);
        const seconds = (performance.now() - startedAt) / 1000;
        const bytesIn = Math.max(0, socket.bytesRead - headerBytes);
        const bytesOut = socket.bytesWritten;
        const facts = {
          ...{ endpointId, tunnelId, tunnelNode: connection.tunnelNode, proto, clientAddress, localAddress },
          ...{ startedAtMs, seconds, bytesIn, bytesOut, outcome },
        };
        if (connection.wasCarried) tunnel?.use.ended(bytesIn, bytesOut);
        this.#options.onClosed(facts);
      },
    });
    const ofEndpoint = this.#byEndpoint.get(endpointId);
    if (ofEndpoint === undefined) this.#byEndpoint.set(endpointId, new Set([connection]));
    else ofEndpoint.add(connection);
    try {
      if (endpoint.isAddressAllowed(address)) connection.start();
      else connection.cut('address');
    } catch (error) {
      connection.contain(error);
    }
  }

  *all(): Iterable<RawConnection> {
    for (const ofEndpoint of this.#byEndpoint.values()) yield* ofEndpoint;
  }

  cutAll(endpointId: string, outcome: string): void {
    for (const connection of this.#byEndpoint.get(endpointId) ?? []) connection.cut(outcome);
  }

  /** Ends with the last connection, or cuts the rest at the deadline. */
  async drain(leftMs: () => number): Promise<void> {
    await until(() => this.#count === 0, leftMs());
    for (const endpointId of [...this.#byEndpoint.keys()]) this.cutAll(endpointId, 'draining');
  }

  #remove(endpointId: string, connection: RawConnection): void {
    this.#count -= 1;
    const ofEndpoint = this.#byEndpoint.get(endpointId);
    ofEndpoint?.delete(connection);
    if (ofEndpoint?.size === 0) this.#byEndpoint.delete(endpointId);
  }
}
