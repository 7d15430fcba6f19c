import { constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { ignoreErrors, type ListenerOwner, listen, listenOnce, reportBug } from '../../kit/guarded-listeners.ts';
import { OF_REQUESTS, SessionWindows } from '../../kit/http2/session-windows.ts';
import { destroySession } from '../../kit/http2/sessions.ts';
import { watchStreamEnd } from '../../kit/http2/stream-end.ts';
import { descriptorLimit } from '../../kit/process/descriptor-budget.ts';
import { ControlStream } from '../protocol/control-stream.ts';
import { serveLink } from '../protocol/link-ends.ts';
import { Liveness } from '../protocol/liveness.ts';
import { type AgentMessage, decodeGatewayMessage, type GatewayMessage } from '../protocol/messages.ts';
import { CONTROL_PATH, MAX_BUSY_CONNECTIONS, MAX_STREAMS_PER_CONNECTION } from '../protocol/protocol.ts';
import { refuseStream } from './local/local-failure.ts';
import { type RequestReading, readRequest, takeRequest } from './local/served-request.ts';
import type { AgentTimings } from './timings.ts';

export interface GatewayConnectionHandler {
  /** The control stream is open: send `hello`. */
  onReady(connection: GatewayConnection): void;
  onMessage(connection: GatewayConnection, message: GatewayMessage): void;
  onStream(connection: GatewayConnection, stream: ServerHttp2Stream, reading: RequestReading): void;
  /** The server is draining: connect elsewhere and let this connection finish. */
  onDrain(connection: GatewayConnection): void;
  /** Called once. */
  onClosed(connection: GatewayConnection, reason: string): void;
}

/** For the agent's own files, its connections to the server, and idle ones to its service. */
const RESERVED_FILES = 64;
const LEAST_STREAMS = 16;
const TCP_PROBE_AFTER_MS = 30_000;
/** The peer closes once it has seen our end. If it does not, the socket is destroyed after this time. */
const CLOSE_WITHIN_MS = 1_000;
/** Wait after the last stream of a draining connection: the server may have sent another one before it knew. */
const QUIET_MS = 1_000;
const HIGHEST_STREAM_ID = 2 ** 31 - 1;
/**
 * The server may ask for more: visitors reach it until another process has taken over. It then closes the connection.
 */
const LONGEST_QUIET_MS = 120_000;

/**
 * One connection to the server: HTTP/2 with the roles reversed, the agent being the HTTP/2 server. States: *greeting*
 * (until the server's first message), *serving*, *draining* (closes after its last stream), *closed*.
 */
export class GatewayConnection implements ListenerOwner {
  readonly #socket: TLSSocket;
  readonly #session: ServerHttp2Session;
  readonly #handler: GatewayConnectionHandler;
  readonly #windows: SessionWindows;
  readonly #liveness: Liveness;
  readonly #greetingTimer: NodeJS.Timeout;
  /** Requests that it takes at the same time. */
  readonly maxStreams = maxStreams();
  #control: ControlStream | null = null;
  #active = 0;
  #isDraining = false;
  #quietMs = QUIET_MS;
  #quietTimer: NodeJS.Timeout | null = null;
  #isClosing = false;
  #isFailed = false;
  #isClosed = false;
  #reason: string | null = null;

  constructor(socket: TLSSocket, handler: GatewayConnectionHandler, timings: AgentTimings) {
    this.#socket = socket;
    this.#handler = handler;
    socket.setKeepAlive(true, TCP_PROBE_AFTER_MS);
    // And the control stream.
    const session = serveLink(socket, this.maxStreams + 1);
    this.#session = session;
    this.#windows = new SessionWindows(session, OF_REQUESTS);
    this.#liveness = new Liveness(socket, session, () => this.fail('the server no longer responds'), timings.liveness);
    this.#greetingTimer = setTimeout(
      () => this.fail('the server did not send welcome in time'),
      timings.welcomeTimeoutMs,
    );
    listen(
      session,
      'stream',
      this,
      (stream: ServerHttp2Stream, _headers: unknown, _flags: number, raw: readonly string[]) =>
        this.#stream(stream, raw),
    );
    listen(session, 'goaway', this, () => {
      if (this.#isFailed) return;
      // The peer ended its side in response to our end: it has received everything.
      if (this.#isClosing) this.fail('the connection was closed');
      else this.#handler.onDrain(this);
    });
    listen(session, 'error', this, (error: Error) => this.fail(`the connection failed (${error.message})`));
    listen(socket, 'error', this, (error: Error) => this.fail(`the connection failed (${error.message})`));
    listenOnce(session, 'close', this, () => this.#closed());
    listenOnce(socket, 'close', this, () => this.fail('the connection was closed'));
  }

  contain(error: unknown): void {
    reportBug(error, { part: 'gateway connection' });
    this.fail(`the agent has a bug (${String(error)})`);
  }

  /** Requests and connections in progress. */
  get active(): number {
    return this.#active;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get roundTripMs(): number | null {
    return this.#liveness.roundTripMs;
  }

  whenClosed(listener: () => void): void {
    if (this.#isClosed) listener();
    else listenOnce(this.#session, 'close', this, listener);
  }

  isAlive(withinMs: number): Promise<boolean> {
    return this.#liveness.isAlive(withinMs);
  }

  send(message: AgentMessage): void {
    this.#control?.send(message);
  }

  /** Closes after the last stream. Streams that arrive before that are served. */
  drain(): void {
    this.#isDraining = true;
    this.#closeWhenQuiet();
  }

  /** Asks the server to open no further streams here, and closes after the last one. */
  retire(): void {
    // The highest stream id: those that the server opens before it reads this are served too (RFC 9113 §6.8).
    if (!this.#session.destroyed) this.#session.goaway(constants.NGHTTP2_NO_ERROR, HIGHEST_STREAM_ID);
    this.drain();
  }

  /** Closes after everything has been sent. */
  close(reason: string): void {
    this.#reason ??= reason;
    this.#isClosing = true;
    this.#control?.close();
    if (!this.#session.destroyed) this.#session.close();
    setTimeout(() => this.fail(reason), CLOSE_WITHIN_MS).unref();
  }

  /** Closes immediately. */
  fail(reason: string): void {
    this.#reason ??= reason;
    this.#isFailed = true;
    destroySession(this.#session, this.#socket);
  }

  #stream(stream: ServerHttp2Stream, raw: readonly string[]): void {
    const reading = this.#isFailed ? null : readRequest(raw);
    if (reading !== null && this.#control !== null && reading.method !== 'CONNECT') {
      if (stream.destroyed || stream.closed) return;
      // Taken here because the stream may be held until its tunnel is known.
      takeRequest(stream, this.#onStreamClosed);
      this.#serve(stream, reading);
      return;
    }
    watchStreamEnd(stream);
    ignoreErrors(stream);
    if (this.#isFailed) return;
    if (this.#control === null) {
      if (reading?.method === 'POST' && reading.path === CONTROL_PATH) this.#openControl(stream);
      else this.fail('the peer is not a Postern server: it did not open a control stream');
    } else if (!stream.destroyed && !stream.closed) {
      if (reading === null) {
        refuseStream(stream, 400);
        return;
      }
      listenOnce(stream, 'close', this, this.#onStreamClosed);
      this.#serve(stream, reading);
    }
  }

  #serve(stream: ServerHttp2Stream, reading: RequestReading): void {
    this.#active += 1;
    this.#windows.opened();
    this.#handler.onStream(this, stream, reading);
  }

  readonly #onStreamClosed = (): void => {
    this.#active -= 1;
    this.#windows.closed();
    if (this.#isDraining) this.#closeWhenQuiet();
  };

  #openControl(stream: ServerHttp2Stream): void {
    stream.respond([':status', '200']);
    this.#control = new ControlStream(stream, {
      onLine: (line) => this.#line(line),
      onProblem: (reason) => this.fail(reason),
      contain: (error) => this.contain(error),
      onEnd: () => {
        if (!this.#isClosing) this.close('the server ended the connection');
      },
    });
    this.#handler.onReady(this);
  }

  #line(line: string): void {
    if (this.#isFailed) return;
    const decoded = decodeGatewayMessage(line);
    if (!decoded.ok) {
      this.fail(`the server broke the protocol: ${decoded.reason}`);
      return;
    }
    if (!('message' in decoded)) return;
    clearTimeout(this.#greetingTimer);
    if (decoded.message.t === 'drain') {
      const { quiet_ms: quietMs = QUIET_MS } = decoded.message;
      this.#quietMs = Math.min(Math.max(QUIET_MS, quietMs), LONGEST_QUIET_MS);
      this.#handler.onDrain(this);
    } else this.#handler.onMessage(this, decoded.message);
  }

  #closeWhenQuiet(): void {
    if (this.#quietTimer !== null) clearTimeout(this.#quietTimer);
    if (this.#active > 0) return;
    this.#quietTimer = setTimeout(() => {
      if (this.#active === 0) this.close('it was replaced by another connection');
    }, this.#quietMs).unref();
  }

  #closed(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#greetingTimer);
    if (this.#quietTimer !== null) clearTimeout(this.#quietTimer);
    this.#liveness.stop();
    this.#socket.destroy();
    this.#handler.onClosed(this, this.#reason ?? 'the connection was closed');
  }
}

let allowed: number | null = null;

/**
 * Each request may need a connection to the service, so an agent with few files takes fewer requests: the server then
 * leaves a part of them to each visitor. Otherwise one visitor could use up the files, and everybody would get an
 * error.
 */
function maxStreams(): number {
  allowed ??= Math.floor((descriptorLimit() - RESERVED_FILES) / MAX_BUSY_CONNECTIONS);
  return Math.max(LEAST_STREAMS, Math.min(MAX_STREAMS_PER_CONNECTION, allowed));
}
