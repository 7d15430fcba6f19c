import { EventEmitter } from 'node:events';
import type { AgentNode, AgentTunnel } from './handle.ts';

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
  /** Those that have a connection now. */
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
