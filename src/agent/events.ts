import { EventEmitter } from 'node:events';
import type { AgentTunnel } from './handle.ts';

export type AgentStatus = 'connecting' | 'online' | 'reconnecting' | 'stopped';

export interface StatusEvent {
  readonly type: 'status';
  readonly status: AgentStatus;
  /** Why it is not online, in words; null when there is nothing to say. */
  readonly reason: string | null;
  /** Stable word for it, such as the server's error code. */
  readonly code: string | null;
  /** When the next try begins, in milliseconds from now; null when none is planned. */
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
  /** Whether the agent asks for it again by itself. */
  readonly retry: boolean;
}

/** An HTTP request is over. */
export interface RequestEvent {
  readonly type: 'request';
  readonly tunnel: AgentTunnel;
  readonly method: string;
  readonly path: string;
  /** 0 when it was given up before there was an answer. */
  readonly status: number;
  readonly durationMs: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly problem: string | null;
}

/** A TCP or TLS connection was opened, or is over. */
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
  /** False: remote management is off, and it was refused. */
  readonly isAccepted: boolean;
}

export type AgentEvent = StatusEvent | BoundEvent | UnboundEvent | RequestEvent | ConnectionEvent | CommandEvent;

export type AgentEventMap = { [Type in AgentEvent['type']]: [Extract<AgentEvent, { readonly type: Type }>] };

/** Listeners are strangers: one that throws is a crash of the program that it belongs to, but never half a step of the agent. */
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
