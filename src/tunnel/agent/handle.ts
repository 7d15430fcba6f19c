import { EventEmitter } from 'node:events';
import type { LookupFunction } from 'node:net';
import type { HeaderList } from '../../kit/http/header-values.ts';
import type { EndpointModules } from '../protocol/messages.ts';
import type { AgentTimings } from './timings.ts';

export type TunnelStatus =
  /** Not requested yet, or requested and not answered. */
  | 'binding'
  | 'online'
  /** The server refused for now; the agent retries automatically. */
  | 'waiting'
  /** The server refused permanently. */
  | 'refused'
  | 'stopped';

/** A server of the installation. */
export interface AgentNode {
  /** Changes with every start of the server. */
  readonly id: string;
  readonly name: string;
}

/** A tunnel as the agent's user sees it. */
export interface AgentTunnel {
  /** The agent's own number for it, which no other tunnel of this agent ever has. */
  readonly ref: number;
  readonly name: string;
  /** Null until the server has assigned one. */
  readonly id: string | null;
  /** Public address. Null for a tunnel with labels, and until the server has assigned one. */
  readonly publicUrl: string | null;
  readonly proto: 'http' | 'https' | 'tcp' | 'tls' | null;
  readonly labels: Readonly<Record<string, string>> | null;
  readonly spec: TunnelSpec;
  /** Local addresses it forwards to, as `host:port` or URL. */
  readonly forwardsTo: string;
  readonly status: TunnelStatus;
  /** The server's message when it refused the tunnel. */
  readonly problem: string | null;
}

/** A running agent. */
export interface AgentHandle extends EventEmitter<AgentEventMap> {
  readonly tunnels: readonly AgentTunnel[];
  /** Public address of the first tunnel. */
  readonly publicUrl: string | null;
  readonly status: AgentStatus;
  readonly sessionId: string | null;
  readonly region: string | null;
  /** Nodes that have a connection of this agent. Empty if the server does not say. */
  readonly nodes: readonly AgentNode[];
  /** Duration of the last answered ping. */
  readonly roundTripMs: number | null;
  /** Requests and connections in progress. */
  readonly active: number;
  /** Opens one more tunnel. Throws `AgentError` when the spec is invalid. */
  openTunnel(spec: TunnelSpec): AgentTunnel;
  /** Requests in progress finish. A tunnel that the agent does not have is ignored. */
  closeTunnel(ref: number): void;
  /** Replaces the local addresses of a tunnel: requests in progress finish at the old ones. */
  moveTunnel(ref: number, addr: readonly string[]): void;
  /** What is wrong on this machine, for the server's list of problems. Replaces what was reported before. */
  reportProblems(problems: readonly string[]): void;
  /** Unbinds the tunnels at the server, waits a bounded time for requests in progress, and stops. */
  close(): Promise<void>;
}

export interface TunnelSpec {
  readonly name?: string | undefined;
  /** Set exactly one of `proto` and `labels`. */
  readonly proto?: 'http' | 'https' | 'tcp' | 'tls' | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /**
   * Address of the local service: `8080`, `host:port`, or a URL with `http`, `https`, `h2c` or `tcp`. Several, of one
   * scheme: replicas that share the requests. `file:///srv/www` serves a folder, for http and https.
   */
  readonly addr: string | number | readonly string[];
  /** Requested host, for http, https and tls. */
  readonly domain?: string | undefined;
  /** Requested port, for tcp. */
  readonly port?: number | undefined;
  readonly metadata?: string | undefined;
  /** The Host that the local service sees: the public one (default), its own, or this value. */
  readonly hostHeader?: 'preserve' | 'rewrite' | (string & {}) | undefined;
  readonly modules?: EndpointModules | undefined;
  readonly upstreamTls?: UpstreamTlsOptions | undefined;
  /** For a folder in `addr`. */
  readonly files?: FolderOptions | undefined;
  /** Whether `observe` is called for this tunnel's requests. Default: true. */
  readonly inspect?: boolean | undefined;
}

/** How a folder is served. Files are named by their paths in it. */
export interface FolderOptions {
  /** Files that are sent for a folder, the first that exists. Default: index.html. */
  readonly indexFiles?: readonly string[] | undefined;
  /** Sent with 200 for every path without a file. */
  readonly fallback?: string | undefined;
  /** Sent with 404. */
  readonly notFoundPage?: string | undefined;
  /** Show the names in a folder without an index file. Default: false. */
  readonly listing?: boolean | undefined;
  /** Send text compressed. Default: true. */
  readonly compression?: boolean | undefined;
}

/** How the certificate of a local `https://` service is verified. */
export interface UpstreamTlsOptions {
  /** PEM certificates to trust instead of the system's. */
  readonly ca?: string | readonly string[] | undefined;
  /** The name that its certificate must contain, if different from the one in `addr`. */
  readonly servername?: string | undefined;
  /** Accepts any certificate. An attacker between the agent and its service can then read and change everything. */
  readonly insecureSkipVerify?: boolean | undefined;
}

export interface AgentOptions {
  /** `host:port` of the server's `tunnel_listen`. */
  readonly serverAddr: string;
  readonly authtoken: string;
  /** PEM certificates to trust instead of the system's. */
  readonly ca?: string | readonly string[] | undefined;
  /** The name that the server's certificate must contain, if different from the dialled one. */
  readonly servername?: string | undefined;
  /** Resolves the server's name, by default as the system does. Called for every connection. */
  readonly lookup?: LookupFunction | undefined;
  readonly metadata?: string | undefined;
  /** Whether the server may stop, restart or update this agent. Default: true. */
  readonly remoteManagement?: boolean | undefined;
  /** Upper limit of connections, whatever the server proposes. */
  readonly connections?: number | undefined;
  readonly tunnels: readonly TunnelSpec[];
  /** Tunnels come and go: the agent runs on without any, and when the server refused all of them. Default: false. */
  readonly isOpenEnded?: boolean | undefined;
  readonly onEvent?: ((event: AgentEvent) => void) | undefined;
  /** Called for each forwarded HTTP request; used by the inspector. */
  readonly observe?: ObserveExchange | undefined;
  readonly agentVersion?: string | undefined;
  readonly timings?: Partial<AgentTimings> | undefined;
}

export type AgentStatus = 'connecting' | 'online' | 'reconnecting' | 'stopped';

export interface StatusEvent {
  readonly type: 'status';
  readonly status: AgentStatus;
  /** Why the agent is not online, for people; null when there is nothing to report. */
  readonly reason: string | null;
  /** Stable code of the reason, such as the server's error code. */
  readonly code: string | null;
  /** Milliseconds until the next attempt; null when none is planned. */
  readonly nextTryMs: number | null;
  readonly region: string | null;
}

export interface BoundEvent {
  readonly type: 'bound';
  readonly tunnel: AgentTunnel;
}

export interface UnboundEvent {
  readonly type: 'unbound';
  readonly tunnel: AgentTunnel;
  readonly code: string;
  readonly message: string;
  /** Whether the agent requests the tunnel again automatically. */
  readonly retry: boolean;
}

/** An HTTP request has finished. */
export interface RequestEvent {
  readonly type: 'request';
  readonly tunnel: AgentTunnel;
  readonly method: string;
  readonly path: string;
  /** 0 when it was aborted before a response. */
  readonly status: number;
  readonly durationMs: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly problem: string | null;
}

/** A TCP or TLS connection was opened or has closed. */
export interface ConnectionEvent {
  readonly type: 'connection';
  readonly tunnel: AgentTunnel;
  readonly phase: 'opened' | 'closed' | 'failed';
  readonly clientAddress: string;
  readonly problem: string | null;
}

export interface CommandEvent {
  readonly type: 'command';
  readonly command: 'stop' | 'restart' | 'update';
  /** False: remote management is off, and the command was rejected. */
  readonly isAccepted: boolean;
}

/** Connections were opened, moved or lost, in an installation of several nodes. */
export interface NodesEvent {
  readonly type: 'nodes';
  /** Nodes that have a connection now. */
  readonly nodes: readonly AgentNode[];
}

export type AgentEvent =
  | StatusEvent
  | BoundEvent
  | UnboundEvent
  | RequestEvent
  | ConnectionEvent
  | CommandEvent
  | NodesEvent;

export type AgentEventMap = { [Type in AgentEvent['type']]: [Extract<AgentEvent, { readonly type: Type }>] };

/**
 * Listeners are foreign code. One that throws crashes its own program, but must never interrupt a step of the agent.
 */
export class AgentEvents extends EventEmitter<AgentEventMap> {
  readonly #onEvent: ((event: AgentEvent) => void) | undefined;

  constructor(onEvent: ((event: AgentEvent) => void) | undefined) {
    super();
    this.#onEvent = onEvent;
  }

  tell(event: AgentEvent): void {
    try {
      this.#onEvent?.(event);
      (this as EventEmitter).emit(event.type, event);
    } catch (error) {
      process.nextTick(() => {
        throw error;
      });
    }
  }
}

export interface ObservedRequest {
  readonly tunnel: { readonly ref: number; readonly name: string };
  readonly method: string;
  readonly target: string;
  readonly authority: string;
  /** Without framing headers. */
  readonly headers: HeaderList;
  /** Null when it was not announced. */
  readonly contentLength: number | null;
}

/** Observes one HTTP exchange. Chunks are passed by reference, not copied: an observer must not modify them. */
export interface ExchangeObserver {
  onRequestData(chunk: Buffer): void;
  onResponseHead(status: number, headers: HeaderList): void;
  onResponseData(chunk: Buffer): void;
  /** Called once. `problem` is null when the response was complete. */
  onEnd(problem: string | null): void;
}

/** Returns null to skip this request. */
export type ObserveExchange = (request: ObservedRequest) => ExchangeObserver | null;
