import { EventEmitter } from 'node:events';
import type { AgentPorts } from '../../src/app/cli/agent/agent-ports.ts';
import type { Command } from '../../src/app/cli/command.ts';
import type {
  AgentEvent,
  AgentEventMap,
  AgentHandle,
  AgentOptions,
  AgentStatus,
  AgentTunnel,
  TunnelSpec,
} from '../../src/tunnel/agent/handle.ts';
import type { InspectorOptions } from '../../src/tunnel/agent/inspector/index.ts';

type Writable<T> = { -readonly [Key in keyof T]: T[Key] };

function scriptedTunnel(spec: TunnelSpec, ref: number): Writable<AgentTunnel> {
  return {
    ...{ ref, spec, name: spec.name ?? '', id: null, publicUrl: null, proto: spec.proto ?? null },
    ...{ labels: spec.labels ?? null, forwardsTo: String(spec.addr), status: 'binding', problem: null },
  };
}

/** An agent controlled by the test. */
export class ScriptedAgent extends EventEmitter<AgentEventMap> implements AgentHandle {
  readonly options: AgentOptions;
  readonly tunnels: Writable<AgentTunnel>[];
  status: AgentStatus = 'connecting';
  region: string | null = null;
  readonly nodes = [];
  roundTripMs: number | null = null;
  active = 0;
  closes = 0;
  problems: readonly string[] = [];
  readonly sessionId = 'ts_1';
  readonly publicUrl = null;
  readonly url = null;
  /** Resolve it to let `close` finish. */
  closed: Promise<void> = Promise.resolve();

  constructor(options: AgentOptions) {
    super();
    this.options = options;
    this.tunnels = options.tunnels.map(scriptedTunnel);
  }

  openTunnel(spec: TunnelSpec): AgentTunnel {
    const tunnel = scriptedTunnel(spec, this.tunnels.length);
    this.tunnels.push(tunnel);
    this.emit('bound', { type: 'bound', tunnel });
    return tunnel;
  }

  closeTunnel(): void {}

  moveTunnel(): void {}

  reportProblems(problems: readonly string[]): void {
    this.problems = problems;
  }

  tell(event: AgentEvent): void {
    if (event.type === 'status') this.status = event.status;
    this.options.onEvent?.(event);
  }

  tellStatus(status: AgentStatus, more: { reason?: string; code?: string; nextTryMs?: number } = {}): void {
    const { reason = null, code = null, nextTryMs = null } = more;
    this.tell({ type: 'status', status, reason, code, nextTryMs, region: status === 'online' ? 'local' : null });
  }

  bind(ref: number, publicUrl: string | null): void {
    const tunnel = this.tunnels[ref] as Writable<AgentTunnel>;
    Object.assign(tunnel, { status: 'online', publicUrl, url: publicUrl, id: `tn_${ref}` });
    this.tell({ type: 'bound', tunnel });
  }

  refuse(ref: number, message: string, code = 'ERR_POSTERN_TUNNEL_ACL'): void {
    const tunnel = this.tunnels[ref] as Writable<AgentTunnel>;
    Object.assign(tunnel, { status: 'refused', problem: message });
    this.tell({ type: 'unbound', tunnel, code, message, retry: false });
  }

  request(path: string, status: number, more: { method?: string; problem?: string } = {}): void {
    const tunnel = this.tunnels[0] as AgentTunnel;
    const { method = 'GET', problem = null } = more;
    this.tell({ type: 'request', tunnel, method, path, status, durationMs: 12, bytesIn: 1, bytesOut: 2, problem });
  }

  async close(): Promise<void> {
    this.closes += 1;
    await this.closed;
    if (this.status !== 'stopped') this.tellStatus('stopped');
  }
}

export interface AgentWorldOptions {
  readonly files?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly isTerminal?: boolean;
  /** Absent: there is no terminal to ask. */
  readonly ask?: (question: string) => Promise<string>;
  readonly size?: { columns: number; rows: number };
  startInspector?(options: InspectorOptions): ReturnType<AgentPorts['startInspector']>;
}

/** The agent's commands with all external effects controlled by the test. */
export class AgentWorld {
  readonly stdout: string[] = [];
  readonly stderr: string[] = [];
  readonly exits: number[] = [];
  readonly agents: ScriptedAgent[] = [];
  readonly inspectors: InspectorOptions[] = [];
  /** Raw output to the terminal. */
  written = '';
  size: { columns: number; rows: number };
  nowMs = Date.parse('2026-11-15T12:00:00Z');
  readonly ports: AgentPorts;
  readonly #options: AgentWorldOptions;
  readonly #onStart = new EventEmitter();
  readonly #signals = new Set<() => void>();
  readonly #resizes = new Set<() => void>();
  readonly #suspends = new Set<{ readonly suspend: () => void; readonly resume: () => void }>();
  readonly #crashes = new Set<() => void>();
  readonly #failures = new Set<(error: unknown) => void>();

  constructor(options: AgentWorldOptions = {}) {
    this.#options = options;
    this.size = options.size ?? { columns: 80, rows: 24 };
    const files = options.files ?? {};
    this.ports = {
      version: '1.2.3',
      startAgent: (given) => {
        const agent = new ScriptedAgent(given);
        this.agents.push(agent);
        this.#onStart.emit('agent');
        return agent;
      },
      startInspector: (given) => {
        this.inspectors.push(given);
        if (options.startInspector !== undefined) return options.startInspector(given);
        return Promise.resolve({
          url: 'http://127.0.0.1:7040',
          isOtherPort: false,
          observe: () => null,
          close: () => Promise.resolve(),
        });
      },
      files: {
        home: '/home/me',
        read: (path) => {
          const text = files[path];
          return text === undefined
            ? Promise.reject(Object.assign(new Error(path), { code: 'ENOENT' }))
            : Promise.resolve(text);
        },
        exists: (path) => Promise.resolve(path in files),
        list: (path) => {
          const below = Object.keys(files).filter((name) => name.startsWith(`${path}/`));
          return Promise.resolve([
            ...new Set(below.map((name) => name.slice(path.length + 1).split('/')[0] as string)),
          ]);
        },
      },
      terminal: {
        write: (text) => {
          this.written += text;
        },
        size: () => this.size,
        onResize: (listener) => held(this.#resizes, listener),
      },
      process: {
        onStopSignal: (listener) => held(this.#signals, listener),
        onSuspend: (suspend, resume) => held(this.#suspends, { suspend, resume }),
        onExit: (listener) => held(this.#crashes, listener),
        onFailure: (listener) => held(this.#failures, listener),
        exit: (code) => this.exits.push(code),
      },
      nowMs: () => this.nowMs,
    };
  }

  run(command: Command, args: readonly string[]): Promise<number> {
    return command.run(args, {
      env: this.#options.env ?? { POSTERN_AUTHTOKEN: 'token' },
      isTerminal: this.#options.isTerminal ?? false,
      ...(this.#options.ask !== undefined && { ask: this.#options.ask }),
      print: (line) => this.stdout.push(line),
      warn: (line) => this.stderr.push(line),
    });
  }

  /** The agent of the run, once it exists. */
  async agent(): Promise<ScriptedAgent> {
    while (this.agents.length === 0) await new Promise((resolve) => this.#onStart.once('agent', resolve));
    return this.agents[0] as ScriptedAgent;
  }

  signal(): void {
    for (const listener of [...this.#signals]) listener();
  }

  resize(columns: number, rows: number): void {
    this.size = { columns, rows };
    for (const listener of [...this.#resizes]) listener();
  }

  suspend(): void {
    for (const { suspend } of [...this.#suspends]) suspend();
  }

  resume(): void {
    for (const { resume } of [...this.#suspends]) resume();
  }

  fail(error: unknown): void {
    for (const listener of [...this.#failures]) listener(error);
  }

  crash(): void {
    for (const listener of [...this.#crashes]) listener();
  }

  /** Listeners that a run has leaked. */
  get leftListeners(): number {
    return this.#signals.size + this.#resizes.size + this.#suspends.size + this.#crashes.size + this.#failures.size;
  }
}

function held<T>(set: Set<T>, item: T): () => void {
  set.add(item);
  return () => set.delete(item);
}
