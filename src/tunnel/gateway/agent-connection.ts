import type { TLSSocket } from 'node:tls';
import { until } from '../../kit/async/waiting.ts';
import { listen, listenOnce, reportBug } from '../../kit/guarded-listeners.ts';
import type { AgentFigures } from '../../proxy/telemetry/live/installation-tunnels.ts';
import { ControlStream } from '../protocol/control-stream.ts';
import { RequestingEnd } from '../protocol/link-ends.ts';
import { Liveness } from '../protocol/liveness.ts';
import { decodeAgentMessage, type GatewayMessage } from '../protocol/messages.ts';
import { CONTROL_AUTHORITY, CONTROL_PATH, HELLO_TIMEOUT_MS, MAX_STREAMS_PER_CONNECTION } from '../protocol/protocol.ts';
import type { ConnectionHandler, LocalConnection } from './agent-session.ts';

const TCP_PROBE_AFTER_MS = 30_000;
/** Visitors' connections follow within seconds; then this process drains and closes the connections itself. */
const SENT_AWAY_QUIET_MS = 120_000;
/** Time for the last messages to be sent before the connection closes. */
const FLUSH_WITHIN_MS = 1_000;

/**
 * One agent connection, seen from the server: HTTP/2 with the roles reversed. States: *greeting* (the control stream is
 * open, hello is expected), *serving*, *retired* (no new streams), *closed*. It does not trust the peer: everything is
 * bounded, and a peer that breaks a rule is disconnected with a reason.
 */
export class AgentConnection extends RequestingEnd implements LocalConnection {
  readonly remoteAddress: string;
  readonly #handler: ConnectionHandler<AgentConnection>;
  readonly #liveness: Liveness;
  readonly #greetingTimer: NodeJS.Timeout;
  #control: ControlStream | null = null;
  #isRetired = false;
  #isFailed = false;
  #isClosed = false;
  #reason: string | null = null;

  constructor(socket: TLSSocket, handler: ConnectionHandler<AgentConnection>, remoteAddress: string) {
    // The control stream is the connection's own.
    super(socket, 'https://agent', { maxStreams: MAX_STREAMS_PER_CONNECTION, ownStreams: 1 });
    this.#handler = handler;
    this.remoteAddress = remoteAddress;
    socket.setKeepAlive(true, TCP_PROBE_AFTER_MS);
    const { session } = this;
    this.#liveness = new Liveness(socket, session, () => this.fail('the agent no longer responds'));
    this.#greetingTimer = setTimeout(() => this.fail('the agent did not send hello in time'), HELLO_TIMEOUT_MS);
    listenOnce(session, 'connect', this, () => this.#connected());
    listen(session, 'error', this, (error: Error) => this.fail(`the connection failed (${error.message})`));
    listen(session, 'goaway', this, () => this.retire());
    listenOnce(session, 'close', this, () => this.#closed());
  }

  contain(error: unknown): void {
    reportBug(error, { part: 'agent connection', remote_address: this.remoteAddress });
    this.fail('the server has an internal error');
  }

  protected get isOpen(): boolean {
    return !this.#isRetired && !this.session.closed && !this.session.destroyed;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Duration of the last ping; null before the first answer. */
  get roundTripMs(): number | null {
    return this.#liveness.roundTripMs;
  }

  /** Received from the agent and sent to it, without TLS. */
  get bytes(): { readonly received: number; readonly sent: number } {
    return { received: this.socket.bytesRead, sent: this.socket.bytesWritten };
  }

  /** False when it was measured lately. */
  measureRoundTrip(): boolean {
    return this.#liveness.measure();
  }

  /** The agent has identified itself and was accepted. */
  greeted(): void {
    clearTimeout(this.#greetingTimer);
  }

  isAlive(withinMs: number): Promise<boolean> {
    return this.#liveness.isAlive(withinMs);
  }

  send(message: GatewayMessage): void {
    this.#control?.send(message);
  }

  held(bytes: number): void {
    this.windows.held(bytes);
  }

  protected onPlaceLeft(): void {
    if (this.#isRetired) this.#closeIfUnused();
  }

  retire(): void {
    this.#isRetired = true;
    this.#closeIfUnused();
  }

  /** The agent connects to another process; requests still go to it on this connection until `drain`. */
  sendAway(): void {
    this.send({ t: 'drain', quiet_ms: SENT_AWAY_QUIET_MS });
  }

  /** Notifies the agent, sends new streams elsewhere, and closes when the last stream has ended. */
  drain(): void {
    this.send({ t: 'drain' });
    this.#isRetired = true;
  }

  /** Sends the reason, then closes. */
  refuse(code: string, message: string, retry: boolean): void {
    this.send({ t: 'refused', code, message, retry });
    this.#reason ??= `${code}: ${message}`;
    this.#isRetired = true;
    this.#control?.close();
    setTimeout(() => this.socket.destroy(), FLUSH_WITHIN_MS).unref();
  }

  /** Closes immediately. */
  fail(reason: string): void {
    this.#reason ??= reason;
    this.#isFailed = true;
    this.#isRetired = true;
    this.destroy();
  }

  /** The agent left cleanly. */
  close(): void {
    this.#isRetired = true;
    this.#control?.close();
    this.session.close();
    setTimeout(() => this.socket.destroy(), FLUSH_WITHIN_MS).unref();
  }

  #connected(): void {
    this.widen();
    const stream = this.session.request(
      { ':method': 'POST', ':path': CONTROL_PATH, ':authority': CONTROL_AUTHORITY, ':scheme': 'https' },
      { endStream: false },
    );
    listenOnce(stream, 'response', this, (headers: Readonly<Record<string, unknown>>) => {
      if (headers[':status'] !== 200) this.fail('the peer is not a Postern agent');
    });
    this.#control = new ControlStream(stream, {
      onLine: (line) => this.#line(line),
      onProblem: (reason) => this.fail(reason),
      contain: (error) => this.contain(error),
      onEnd: () => {
        if (!this.#isRetired) this.fail('the agent ended its control stream');
      },
    });
  }

  #line(line: string): void {
    if (this.#isFailed) return;
    const decoded = decodeAgentMessage(line);
    if (!decoded.ok) this.fail(decoded.reason);
    else if ('message' in decoded) this.#handler.onMessage(this, decoded.message);
  }

  /** The control stream counts as a stream, and stays open until the end. */
  #closeIfUnused(): void {
    if (this.active === 0) this.close();
  }

  #closed(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#isRetired = true;
    clearTimeout(this.#greetingTimer);
    this.#liveness.stop();
    this.socket.destroy();
    this.#handler.onClosed(this, this.#reason);
  }
}

/** Waits for requests in progress, up to `timeoutMs`. */
export function untilIdle(connections: () => Iterable<LocalConnection>, timeoutMs: number): Promise<boolean> {
  return until(() => ![...connections()].some((connection) => connection.active > 0), timeoutMs);
}

interface ConnectedSession {
  readonly id: string;
  readonly local: readonly LocalConnection[];
}

/** Pings take a moment of this process; the other connections have their turn later. */
const MAX_PINGS = 200;

/**
 * Also measures the round trips for the next call: connections that carry traffic are not pinged otherwise. Null: the
 * agent is not connected here.
 */
export function* agentFigures(sessions: Iterable<ConnectedSession>): Generator<AgentFigures | null> {
  let pings = 0;
  for (const { id, local } of sessions) {
    if (local.length === 0) {
      yield null;
      continue;
    }
    let [bytesReceived, bytesSent] = [0, 0];
    for (const connection of local) {
      if (pings < MAX_PINGS && connection.measureRoundTrip()) pings += 1;
      bytesReceived += connection.bytes.received;
      bytesSent += connection.bytes.sent;
    }
    yield { id, roundTripsMs: local.map(({ roundTripMs }) => roundTripMs), bytesReceived, bytesSent };
  }
}
