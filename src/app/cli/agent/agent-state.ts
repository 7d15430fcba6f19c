import type {
  AgentEvent,
  AgentHandle,
  AgentNode,
  AgentStatus,
  ConnectionEvent,
  RequestEvent,
} from '../../../tunnel/agent/handle.ts';

const KEPT = 200;

export interface Recent {
  readonly atMs: number;
  readonly event: RequestEvent | ConnectionEvent;
}

/** The events so far, as the view shows them. */
export class AgentState {
  status: AgentStatus = 'connecting';
  reason: string | null = null;
  code: string | null = null;
  region: string | null = null;
  /** Where the connections are, in an installation of several nodes. */
  nodes: readonly AgentNode[] = [];
  /** When the next connection attempt starts. */
  nextTryAtMs: number | null = null;
  requests = 0;
  connections = 0;
  /** Whether a user or the system has requested the end. */
  isStopping = false;
  wasOnline = false;
  /** Newest last. */
  readonly recent: Recent[] = [];

  apply(event: AgentEvent, nowMs: number): void {
    switch (event.type) {
      case 'status':
        this.status = event.status;
        this.reason = event.reason;
        this.code = event.code;
        this.region = event.region ?? this.region;
        this.nextTryAtMs = event.nextTryMs === null ? null : nowMs + event.nextTryMs;
        this.wasOnline ||= event.status === 'online';
        return;
      case 'request':
        this.requests += 1;
        this.#keep({ atMs: nowMs, event });
        return;
      case 'connection':
        if (event.phase === 'opened') this.connections += 1;
        if (event.phase !== 'closed') this.#keep({ atMs: nowMs, event });
        return;
      case 'nodes':
        this.nodes = event.nodes;
        return;
      case 'bound':
      case 'unbound':
      case 'command':
    }
  }

  #keep(recent: Recent): void {
    this.recent.push(recent);
    if (this.recent.length > KEPT) this.recent.splice(0, this.recent.length - KEPT);
  }
}

/** Reports what the agent does, to a person or to a program. */
export interface Reporter {
  /** The agent exists from now on. */
  started(agent: AgentHandle): void;
  event(event: AgentEvent): void;
  /** A message about the program itself. */
  note(level: 'info' | 'warn', message: string, fields?: Readonly<Record<string, unknown>>): void;
  /** The end was requested; requests in progress may finish. */
  stopping(): void;
  /** The last call; the terminal is restored. */
  end(): void;
}
