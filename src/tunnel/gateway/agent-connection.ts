import { type ClientHttp2Session, type ClientHttp2Stream, connect, type Settings } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { until } from '../../kit/async/waiting.ts';
import { type ListenerOwner, listen, listenOnce, reportBug } from '../../kit/guarded-listeners.ts';
import { MAX_HEAD_FIELDS, MAX_HEADER_LIST_SIZE, sendRequest } from '../../kit/http2/heads.ts';
import { CONNECTION_WINDOW_BYTES, INITIAL_WINDOW_BYTES, SessionWindows } from '../../kit/http2/session-windows.ts';
import { destroySession, outliveStreams, SHARED_SESSION, StreamPlaces } from '../../kit/http2/sessions.ts';
import { cancelStream } from '../../kit/http2/stream-end.ts';
import type { Shortage } from '../../kit/net/shared-places.ts';
import type { AgentFigures } from '../../proxy/telemetry/live/installation-tunnels.ts';
import { ControlStream } from '../protocol/control-stream.ts';
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
export class AgentConnection implements LocalConnection, ListenerOwner {
  readonly remoteAddress: string;
  readonly #socket: TLSSocket;
  readonly #session: ClientHttp2Session;
  readonly #handler: ConnectionHandler<AgentConnection>;
  readonly #windows: SessionWindows;
  readonly #liveness: Liveness;
  readonly #greetingTimer: NodeJS.Timeout;
  #control: ControlStream | null = null;
  readonly #places = new StreamPlaces(MAX_STREAMS_PER_CONNECTION);
  #isRetired = false;
  #isFailed = false;
  #isClosed = false;
  #reason: string | null = null;

  constructor(socket: TLSSocket, handler: ConnectionHandler<AgentConnection>, remoteAddress: string) {
    this.#socket = socket;
    this.#handler = handler;
    this.remoteAddress = remoteAddress;
    socket.setNoDelay(true);
    socket.setKeepAlive(true, TCP_PROBE_AFTER_MS);
    const session = connect('https://agent', {
      createConnection: () => socket,
      ...SHARED_SESSION,
      maxHeaderListPairs: MAX_HEAD_FIELDS,
      settings: { enablePush: false, initialWindowSize: INITIAL_WINDOW_BYTES, maxHeaderListSize: MAX_HEADER_LIST_SIZE },
    });
    outliveStreams(session, socket);
    this.#session = session;
    this.#windows = new SessionWindows(session);
    this.#liveness = new Liveness(socket, session, () => this.fail('the agent no longer responds'));
    this.#greetingTimer = setTimeout(() => this.fail('the agent did not send hello in time'), HELLO_TIMEOUT_MS);
    listenOnce(session, 'connect', this, () => this.#connected());
    listen(session, 'remoteSettings', this, ({ maxConcurrentStreams }: Settings) => {
      // The control stream is one of them: a request too many would wait in this process for another one's end.
      const requests = (maxConcurrentStreams ?? Number.POSITIVE_INFINITY) - 1;
      this.#places.size = Math.min(MAX_STREAMS_PER_CONNECTION, Math.max(0, requests));
    });
    listen(session, 'error', this, (error: Error) => this.fail(`the connection failed (${error.message})`));
    listen(session, 'goaway', this, () => this.retire());
    listenOnce(session, 'close', this, () => this.#closed());
  }

  contain(error: unknown): void {
    reportBug(error, { part: 'agent connection', remote_address: this.remoteAddress });
    this.fail('the server has an internal error');
  }

  get hasRoom(): boolean {
    return this.#isOpen && this.#places.shortage() === null;
  }

  shortage(visitor: string | undefined): Shortage | null {
    return this.#isOpen ? this.#places.shortage(visitor) : null;
  }

  get active(): number {
    return this.#places.held;
  }

  get #isOpen(): boolean {
    return !this.#isRetired && !this.#session.closed && !this.#session.destroyed;
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
    return { received: this.#socket.bytesRead, sent: this.#socket.bytesWritten };
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

  request(
    headers: readonly string[],
    options: { readonly endStream: boolean; readonly waitForTrailers: boolean },
    visitor?: string,
  ): ClientHttp2Stream {
    const stream = sendRequest(this.#session, headers, options);
    this.#places.take(stream, visitor);
    this.#windows.opened();
    return stream;
  }

  /** The agent has no limit of resets from its own server, so a client that goes away costs nobody else anything. */
  reset(stream: ClientHttp2Stream): void {
    cancelStream(stream);
  }

  held(bytes: number): void {
    this.#windows.held(bytes);
  }

  release(stream: ClientHttp2Stream): void {
    this.#places.giveBack(stream);
    this.#windows.closed();
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
    setTimeout(() => this.#socket.destroy(), FLUSH_WITHIN_MS).unref();
  }

  /** Closes immediately. */
  fail(reason: string): void {
    this.#reason ??= reason;
    this.#isFailed = true;
    this.#isRetired = true;
    destroySession(this.#session, this.#socket);
  }

  /** The agent left cleanly. */
  close(): void {
    this.#isRetired = true;
    this.#control?.close();
    this.#session.close();
    setTimeout(() => this.#socket.destroy(), FLUSH_WITHIN_MS).unref();
  }

  #connected(): void {
    this.#session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
    const stream = this.#session.request(
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
    this.#socket.destroy();
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
