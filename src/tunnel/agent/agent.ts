import type { ServerHttp2Stream } from 'node:http2';
import { platform, release } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { atMost, until } from '../../kit/async/waiting.ts';
import { readProgramFile } from '../../kit/program-files.ts';
import type { Command, Hello, Refused, Welcome } from '../protocol/messages.ts';
import { MAX_PROBLEM_LENGTH, MAX_PROBLEMS, PROTOCOL_VERSION } from '../protocol/protocol.ts';
import type { Claim, ConnectionSlot, SessionMessage, SlotOwner } from './connection-slot.ts';
import { BUSY_PART, ConnectionSlots } from './connection-slots.ts';
import { type DialProblem, gatewayAddress } from './dial-gateway.ts';
import { AgentError } from './errors.ts';
import type { GatewayConnection } from './gateway-connection.ts';
import {
  AgentEvents,
  type AgentHandle,
  type AgentNode,
  type AgentOptions,
  type AgentStatus,
  type AgentTunnel,
  type TunnelSpec,
} from './handle.ts';
import { refuseStream } from './local/local-failure.ts';
import type { RequestReading } from './local/served-request.ts';
import { HeldStreams, serveStream } from './serve-stream.ts';
import { type AgentTimings, DEFAULT_TIMINGS } from './timings.ts';
import { Tunnel } from './tunnel.ts';
import { Session, TunnelBinding } from './tunnel-binding.ts';

function ownVersion(): string {
  return (JSON.parse(readProgramFile('../package.json')) as { version: string }).version;
}

/** Refusals that concern the agent itself, not the session that it tries to resume. */
const AGENT_REFUSALS: ReadonlySet<string> = new Set([
  'ERR_POSTERN_AGENT_TOKEN',
  'ERR_POSTERN_AGENT_REVOKED',
  'ERR_POSTERN_AGENT_PROTOCOL',
]);
/** Longest time that the server needs to carry out the last message it received. */
const SETTLE_MS = 100;
const PING_WITHIN_MS = 2_000;
const BYE_WITHIN_MS = 2_000;
const CHECKS_PER_WATCHDOG = 4;
/** Requests that the server sent before it knew that a tunnel was closed still find it. */
const CLOSING_MS = 5_000;

interface Trouble {
  readonly code: string | null;
  readonly reason: string;
}

/**
 * The agent. *connecting* until the server has welcomed it, *online* while at least one connection of its session is
 * open, *reconnecting* while none is, *stopped* at the end. With several connections one leads: it starts or resumes
 * the session, and the others join it.
 */
export class Agent extends AgentEvents implements AgentHandle, SlotOwner {
  readonly tunnels: Tunnel[];
  /** Resolves when every tunnel has received its first response. */
  readonly ready: Promise<void>;
  status: AgentStatus = 'connecting';
  region: string | null = null;
  readonly #options: AgentOptions;
  readonly #timings: AgentTimings;
  readonly #binding: TunnelBinding;
  readonly #held = new HeldStreams();
  readonly #slots: ConnectionSlots;
  readonly #sessions = new Map<GatewayConnection, Session>();
  readonly #readiness = Promise.withResolvers<void>();
  readonly #watchdog: NodeJS.Timeout;
  #session: Session | null = null;
  /** The slot that is about to start or resume the session. */
  #lead: ConnectionSlot | null = null;
  #offlineSinceMs: number | null = performance.now();
  #isLeaving = false;
  #trouble: Trouble | null = null;
  #closing: Promise<void> | null = null;
  #problems: readonly string[] = [];
  #nextRef: number;

  /** Throws `AgentError` when an option is invalid. */
  constructor(options: AgentOptions) {
    super(options.onEvent);
    this.#options = options;
    this.#timings = { ...DEFAULT_TIMINGS, ...options.timings };
    this.#slots = new ConnectionSlots({
      owner: this,
      address: gatewayAddress(options),
      timings: this.#timings,
      maxConnections: options.connections,
      onNodes: (nodes) => this.tell({ type: 'nodes', nodes }),
    });
    this.tunnels = options.tunnels.map((spec, ref) => new Tunnel(ref, spec));
    this.#nextRef = this.tunnels.length;
    this.ready = this.#readiness.promise;
    // Prevents an unhandled rejection when the caller uses only the events.
    this.ready.catch(() => {});
    this.#binding = new TunnelBinding({
      tunnels: this.tunnels,
      events: this,
      timings: this.#timings,
      connection: () => this.#slots.online,
      onSettled: () => this.#settled(),
      onOverdue: (reason) => this.#startOver(reason),
    });
    this.#watchdog = setInterval(() => this.#watch(), this.#timings.watchdogMs / CHECKS_PER_WATCHDOG).unref();
    this.#tellStatus();
    this.#slots.fill(1);
  }

  get publicUrl(): string | null {
    return this.tunnels[0]?.publicUrl ?? null;
  }

  get sessionId(): string | null {
    return this.#session?.id ?? null;
  }

  get nodes(): readonly AgentNode[] {
    return this.#slots.nodes;
  }

  get roundTripMs(): number | null {
    return this.#slots.online?.roundTripMs ?? null;
  }

  get active(): number {
    let active = 0;
    for (const connection of this.#sessions.keys()) active += connection.active;
    return active;
  }

  openTunnel(spec: TunnelSpec): AgentTunnel {
    const tunnel = new Tunnel(this.#nextRef, spec);
    this.#nextRef += 1;
    if (this.status === 'stopped') tunnel.status = 'stopped';
    this.tunnels.push(tunnel);
    if (!this.#isLeaving) this.#binding.bind(tunnel);
    return tunnel;
  }

  closeTunnel(ref: number): void {
    const at = this.tunnels.findIndex((tunnel) => tunnel.ref === ref);
    const [tunnel] = at === -1 ? [] : this.tunnels.splice(at, 1);
    if (tunnel === undefined) return;
    tunnel.status = 'stopped';
    if (!this.#isLeaving) this.#binding.unbind(tunnel);
    setTimeout(() => {
      for (const session of new Set(this.#sessions.values())) {
        for (const [id, other] of session.tunnels) if (other === tunnel) session.tunnels.delete(id);
      }
      void tunnel.closeUpstream();
    }, CLOSING_MS).unref();
    this.#settled();
  }

  moveTunnel(ref: number, addr: readonly string[]): void {
    const tunnel = this.tunnels.find((each) => each.ref === ref);
    if (tunnel === undefined) return;
    tunnel.move(addr);
    // The server shows the addresses.
    if (tunnel.status === 'online' && !this.#isLeaving) this.#binding.bind(tunnel);
  }

  reportProblems(problems: readonly string[]): void {
    if (JSON.stringify(problems) === JSON.stringify(this.#problems)) return;
    this.#problems = [...problems];
    this.#sendProblems(this.#slots.online);
  }

  #sendProblems(connection: GatewayConnection | null): void {
    connection?.send({ t: 'problems', problems: reportedProblems(this.#problems) });
  }

  close(): Promise<void> {
    this.#closing ??= this.#leave().then(() => this.#stop(null));
    return this.#closing;
  }

  helloFor(slot: ConnectionSlot): { readonly hello: Hello; readonly claim: Claim } | null {
    if (this.#isLeaving) return null;
    const session = this.#session?.isAbandoned === true ? null : this.#session;
    const hello = helloOf(this.#options);
    if (session !== null && session.connections.size > 0) {
      return { hello: { ...hello, join: session.claim }, claim: 'join' };
    }
    if (slot.isTrial || (this.#lead !== null && this.#lead !== slot)) return null;
    this.#lead = slot;
    if (session === null) return { hello, claim: 'none' };
    return { hello: { ...hello, resume: session.claim }, claim: 'resume' };
  }

  onWelcome(slot: ConnectionSlot, connection: GatewayConnection, welcome: Welcome, claim: Claim): void {
    if (claim === 'join' && this.#session?.connections.size === 0) {
      // All other connections were lost during the join. Only a resume ends those that the server still counts.
      this.#session.secret = welcome.secret ?? this.#session.secret;
      connection.fail('the session has to be resumed');
      return;
    }
    if (claim !== 'join' || this.#session === null) {
      const isResumed = welcome.resumed && this.#session?.id === welcome.session;
      if (isResumed && this.#session !== null) this.#session.secret = welcome.secret ?? this.#session.secret;
      else this.#session = new Session(welcome);
      this.#lead = null;
      this.#admit(connection, this.#session as Session);
      this.region = welcome.region;
      this.#setStatus('online');
      // Keeps `roundTripMs` current: a connection pings on its own only after a period of silence.
      void connection.isAlive(PING_WITHIN_MS);
      this.#binding.bindAll(connection, isResumed);
      if (this.#problems.length > 0 || isResumed) this.#sendProblems(connection);
      this.#settled();
      this.#slots.fill(Math.max(1, Math.min(welcome.connections, this.#options.connections ?? welcome.connections)));
    } else this.#admit(connection, this.#session);
    this.#slots.onWelcome(slot, welcome);
    this.#serveHeld();
  }

  onRefused(slot: ConnectionSlot, { code, message, retry }: Refused, claim: Claim | null): void {
    const isClaim = claim === 'join' || claim === 'resume';
    this.#trouble = { code, reason: message };
    // Another node may not have heard of a new credential yet. A revoked one is refused on every connection.
    const isElsewhere = claim === 'join' && this.#slots.online !== null;
    if (!retry && !isElsewhere && (!isClaim || AGENT_REFUSALS.has(code))) {
      // Steps that run later must not see this connection reused.
      this.#stop(new AgentError(code, message));
      return;
    }
    if (this.#lead === slot) this.#lead = null;
    // The session is gone, and nothing that remains belongs to it. The next attempt starts a new session.
    if (isClaim && (code === 'ERR_POSTERN_AGENT_SESSION' || !retry) && this.#slots.online === null)
      this.#session = null;
  }

  onMessage(connection: GatewayConnection, message: SessionMessage): void {
    const session = this.#sessions.get(connection);
    if (session === undefined) return;
    // The last messages of an old session no longer concern the tunnels.
    const isCurrent = session === this.#session;
    switch (message.t) {
      case 'bound':
        if (isCurrent) this.#binding.onBound(session, message);
        this.#serveHeld();
        return;
      case 'unbound':
        if (isCurrent) this.#binding.onUnbound(message);
        return;
      case 'command':
        this.#command(connection, message);
    }
  }

  onStream(connection: GatewayConnection, stream: ServerHttp2Stream, reading: RequestReading): void {
    const id = reading.method === 'CONNECT' && reading.protocol === null ? reading.authority : reading.tunnelId;
    const session = this.#sessions.get(connection);
    const tunnel = id === null ? undefined : session?.tunnels.get(id);
    const isAwaited = (): boolean => session === undefined || this.tunnels.some(({ status }) => status === 'binding');
    if (connection.active >= connection.maxStreams * BUSY_PART) this.#slots.growIfBusy();
    if (tunnel !== undefined) serveStream(tunnel, stream, reading, { events: this, observe: this.#options.observe });
    else if (id !== null && isAwaited()) this.#held.hold({ connection, stream, reading });
    else refuseStream(stream, 404);
  }

  onUnreachable(slot: ConnectionSlot, problem: DialProblem): void {
    if (this.#lead === slot) this.#lead = null;
    const { code, message, isCertificate } = problem;
    this.#trouble = { code, reason: message };
    // Before the agent was ever online, a bad certificate is a setup mistake. Later it may be temporary.
    if (isCertificate && this.status === 'connecting') this.#stop(new AgentError(code, message));
    else if (this.status !== 'online') this.#tellStatus();
  }

  onClosed(slot: ConnectionSlot, connection: GatewayConnection, reason: string): void {
    if (this.#lead === slot) this.#lead = null;
    const session = this.#sessions.get(connection);
    this.#sessions.delete(connection);
    session?.connections.delete(connection);
    if (this.status === 'stopped' || this.#isLeaving) return;
    this.#binding.onClosed(connection);
    this.#trouble ??= { code: null, reason };
    if (session !== undefined && session === this.#session && session.connections.size === 0) {
      this.#offlineSinceMs = performance.now();
      for (const tunnel of this.tunnels) if (tunnel.status !== 'refused') tunnel.status = 'binding';
      this.#setStatus('reconnecting');
    } else if (this.status !== 'online') this.#tellStatus();
  }

  #admit(connection: GatewayConnection, session: Session): void {
    this.#sessions.set(connection, session);
    session.connections.add(connection);
    this.#offlineSinceMs = null;
    this.#trouble = null;
  }

  /** Abandons a session in which the server no longer responds. */
  #startOver(reason: string): void {
    const session = this.#session;
    if (session === null) return;
    session.isAbandoned = true;
    this.#trouble = { code: 'ERR_POSTERN_AGENT_UNANSWERED', reason };
    for (const connection of session.connections) connection.fail(reason);
  }

  #serveHeld(): void {
    for (const { connection, stream, reading } of this.#held.release()) this.onStream(connection, stream, reading);
  }

  #settled(): void {
    if (this.tunnels.some(({ status }) => status === 'binding')) return;
    const isUseless =
      this.#options.isOpenEnded !== true &&
      this.tunnels.length > 0 &&
      this.tunnels.every(({ status }) => status === 'refused');
    if (isUseless) this.#stop(new AgentError(this.tunnels[0]?.problemCode ?? '', this.tunnels[0]?.problem ?? ''));
    else this.#readiness.resolve();
  }

  #command(connection: GatewayConnection, { id, command }: Command): void {
    const isAccepted = this.#options.remoteManagement !== false;
    const message = isAccepted ? '' : `remote management is disabled on this agent: ${command} it on its machine`;
    connection.send({ t: 'done', id, ok: isAccepted, message });
    this.tell({ type: 'command', command, isAccepted });
    if (!isAccepted || this.#isLeaving) return;
    if (command === 'stop') {
      this.#trouble = { code: 'ERR_POSTERN_AGENT_STOPPED', reason: 'it was stopped through the server' };
      void this.close();
    } else if (command === 'restart') void this.#restart();
  }

  async #restart(): Promise<void> {
    await this.#leave();
    if (this.#closing !== null || this.status === 'stopped') return;
    this.#isLeaving = false;
    this.#trouble = { code: 'ERR_POSTERN_AGENT_RESTARTED', reason: 'it was restarted through the server' };
    this.#offlineSinceMs = performance.now();
    this.#slots.startOver();
    this.#setStatus('reconnecting');
  }

  /** Unbinds the tunnels, waits for accepted requests, then leaves the session. No accepted request is lost. */
  async #leave(): Promise<void> {
    if (this.status === 'stopped') return;
    this.#isLeaving = true;
    this.#slots.rest();
    const connection = this.#slots.online;
    if (connection !== null) {
      this.#binding.unbindAll(connection);
      const deadlineMs = performance.now() + this.#timings.closeTimeoutMs;
      await connection.isAlive(Math.min(PING_WITHIN_MS, this.#timings.closeTimeoutMs));
      await sleep(SETTLE_MS);
      await until(() => this.active === 0, deadlineMs - performance.now());
      const left = new Promise<void>((resolve) => connection.whenClosed(resolve));
      connection.send({ t: 'bye' });
      // The server closes the connection once none of this agent's tunnels is listed.
      await atMost(left, BYE_WITHIN_MS, null);
    }
    this.#binding.stop();
    this.#session = null;
    this.#lead = null;
    for (const tunnel of this.tunnels) if (tunnel.status !== 'refused') tunnel.status = 'binding';
    const open = [...this.#sessions.keys()];
    const closed = open.map((one) => new Promise<void>((resolve) => one.whenClosed(resolve)));
    this.#slots.closeAll('the agent was closed');
    await Promise.all(closed);
  }

  /** Ends the agent, with an error or without one. */
  #stop(error: AgentError | null): void {
    if (this.status === 'stopped') return;
    clearInterval(this.#watchdog);
    this.#binding.stop();
    this.#isLeaving = true;
    for (const tunnel of this.tunnels) {
      if (tunnel.status !== 'refused') tunnel.status = 'stopped';
      void tunnel.closeUpstream();
    }
    if (error !== null) this.#trouble = { code: error.code, reason: error.message };
    this.#readiness.reject(error ?? new AgentError('ERR_POSTERN_AGENT_CLOSED', 'the agent was closed'));
    this.#slots.closeAll(error?.message ?? 'the agent was closed');
    this.#setStatus('stopped');
  }

  /** After a long time offline, for any reason: drops everything in progress and starts over. */
  #watch(): void {
    const sinceMs = this.#offlineSinceMs;
    if (sinceMs === null || this.#isLeaving || performance.now() - sinceMs < this.#timings.watchdogMs) return;
    this.#offlineSinceMs = performance.now();
    this.#lead = null;
    this.#slots.rest();
    this.#slots.startOver();
  }

  #setStatus(status: AgentStatus): void {
    this.status = status;
    this.#tellStatus();
  }

  #tellStatus(): void {
    const { status, region } = this;
    const nextTryMs = status === 'online' ? null : this.#slots.nextTryMs;
    const { reason = null, code = null } = this.#trouble ?? {};
    this.tell({ type: 'status', status, reason, code, nextTryMs, region });
  }
}

/** As many as one message may have. */
function reportedProblems(problems: readonly string[]): string[] {
  const shown = problems.length > MAX_PROBLEMS ? problems.slice(0, MAX_PROBLEMS - 1) : problems;
  const more = problems.length - shown.length;
  return [...shown, ...(more > 0 ? [`and ${more} more: see the log of the agent`] : [])].map((text) =>
    text.slice(0, MAX_PROBLEM_LENGTH).toWellFormed(),
  );
}

/** The agent's identity. Each connection adds the session that it claims. */
function helloOf({ authtoken, agentVersion, metadata, remoteManagement }: AgentOptions): Hello {
  return {
    t: 'hello',
    version: PROTOCOL_VERSION,
    token: authtoken,
    agent_version: agentVersion ?? ownVersion(),
    os: `${platform()} ${release()}`.slice(0, 64),
    metadata: metadata ?? '',
    remote_management: remoteManagement !== false,
  };
}
