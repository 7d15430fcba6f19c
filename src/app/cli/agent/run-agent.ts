import { onBug } from '../../../kit/guarded-listeners.ts';
import { isLoopbackHost, isWildcardHost } from '../../../kit/net/listen-address.ts';
import { AgentError } from '../../../tunnel/agent/errors.ts';
import type { AgentEvent, AgentHandle } from '../../../tunnel/agent/handle.ts';
import type { CommandContext } from '../command.ts';
import type { AgentPorts } from './agent-ports.ts';
import { AgentState, type Reporter } from './agent-state.ts';
import { DockerTunnels } from './docker/docker-tunnels.ts';
import { ALL_REFUSED, STOPPED_BY_SERVER } from './event-text.ts';
import { plainLines } from './plain-lines.ts';
import type { RunOptions } from './run-options.ts';
import { TerminalView } from './terminal-view.ts';

/** Ctrl-C arrives twice when a launcher runs us: from the terminal, and forwarded by the launcher. */
const SAME_SIGNAL_MS = 250;
const EXIT_FAILED = 1;
/** Not left to the drain, which may be what is broken. */
const DRAIN_WITHIN_MS = 10_000;

type RunningInspector = Awaited<ReturnType<AgentPorts['startInspector']>>;

/**
 * Runs an agent until it is stopped, locally or through the server, or can serve nothing. Resolves to the exit code,
 * after `exit` was called with it.
 */
export async function runAgent(options: RunOptions, ports: AgentPorts, context: CommandContext): Promise<number> {
  return new AgentRun(options, ports, context).untilEnd();
}

class AgentRun {
  readonly #options: RunOptions;
  readonly #ports: AgentPorts;
  readonly #context: CommandContext;
  readonly #state = new AgentState();
  readonly #stopped = Promise.withResolvers<number>();
  readonly #undo: (() => void)[] = [];
  #agent: AgentHandle | null = null;
  #docker: DockerTunnels | null = null;
  #reporter: Reporter | null = null;
  #firstSignalMs: number | null = null;
  #inspectorNote: string | null = null;
  #hasFailed = false;

  constructor(options: RunOptions, ports: AgentPorts, context: CommandContext) {
    this.#options = options;
    this.#ports = ports;
    this.#context = context;
  }

  async untilEnd(): Promise<number> {
    const { process } = this.#ports;
    this.#undo.push(
      process.onStopSignal(() => this.#onSignal()),
      process.onFailure((error) => this.#onFailure(error)),
      onBug(({ error }) => this.#reporter?.note('warn', `a bug was contained, please report it: ${stackOf(error)}`)),
    );
    let inspector: RunningInspector | null = null;
    let code: number;
    try {
      inspector = await this.#startInspector();
      const reporter = this.#startReporter(inspector?.url ?? null);
      this.#reporter = reporter;
      this.#tellInspector(inspector);
      if (this.#firstSignalMs === null) this.#startAgent(inspector, reporter);
      if (this.#agent !== null) this.#startDocker(this.#agent, reporter);
      else this.#stopped.resolve(0);
      code = await this.#stopped.promise;
      if (this.#hasFailed) code = EXIT_FAILED;
      await this.#agent?.close();
    } finally {
      await this.#docker?.close();
      await inspector?.close();
      this.#reporter?.end();
      for (const undo of this.#undo) undo();
    }
    process.exit(code);
    return code;
  }

  async #startInspector(): Promise<RunningInspector | null> {
    const { inspector } = this.#options;
    if (inspector === null) return null;
    const { listen, isChosen } = inspector;
    const isNamed = !isLoopbackHost(listen.host) && !isWildcardHost(listen.host);
    try {
      return await this.#ports.startInspector({
        listen,
        ...(isNamed && { allowedHosts: [listen.host] }),
        tunnels: () => this.#agent?.tunnels ?? [],
        status: () => this.#agent,
      });
    } catch (error) {
      // The default address is optional: the tunnels are what matters.
      if (isChosen || !(error instanceof AgentError)) throw error;
      this.#inspectorNote = `${error.message}; continuing without the inspector`;
      return null;
    }
  }

  #tellInspector(inspector: RunningInspector | null): void {
    const { inspector: wanted } = this.#options;
    if (this.#inspectorNote !== null) this.#reporter?.note('warn', this.#inspectorNote);
    if (inspector === null) return;
    const isOther = inspector.isOtherPort && wanted?.isChosen === true;
    const why = isOther ? ` (port ${wanted.listen.port} is in use)` : '';
    // The view shows the address anyway.
    if (isOther || !this.#hasView()) this.#reporter?.note('info', `inspector at ${inspector.url}${why}`);
  }

  #hasView(): boolean {
    return this.#context.isTerminal && this.#options.logFormat === null && this.#context.env['TERM'] !== 'dumb';
  }

  #startReporter(inspectorUrl: string | null): Reporter {
    const { agent, logLevel, logFormat } = this.#options;
    const { terminal, version, process } = this.#ports;
    const { env } = this.#context;
    const nowMs = (): number => this.#ports.nowMs();
    const print = (line: string): void => this.#context.print(line);
    const warn = (line: string): void => this.#context.warn(line);
    const { serverAddr } = agent;
    if (!this.#hasView()) {
      const describeDropped = this.#context.describeDropped?.bind(this.#context);
      const format = logFormat ?? 'text';
      return plainLines({ format, level: logLevel, serverAddr, print, describeDropped, nowMs });
    }
    const hasColor = !env['NO_COLOR'];
    const state = this.#state;
    const view = new TerminalView({
      terminal,
      state,
      version,
      serverAddr,
      inspectorUrl,
      hasColor,
      nowMs,
      print,
      warn,
    });
    const giveBack = (): void => view.leave();
    this.#undo.push(process.onSuspend(giveBack, () => view.enter()));
    this.#undo.push(process.onExit(giveBack));
    return view;
  }

  #startAgent(inspector: RunningInspector | null, reporter: Reporter): void {
    this.#agent = this.#ports.startAgent({
      ...this.#options.agent,
      agentVersion: this.#ports.version,
      ...(inspector !== null && { observe: inspector.observe }),
      onEvent: (event) => this.#onEvent(event, reporter),
    });
    reporter.started(this.#agent);
  }

  #startDocker(agent: AgentHandle, reporter: Reporter): void {
    const { docker: source } = this.#options;
    if (source === null) return;
    this.#docker = new DockerTunnels({
      source,
      agent,
      note: (level, message, fields) => reporter.note(level, message, fields),
    });
  }

  #onEvent(given: AgentEvent, reporter: Reporter): void {
    const isWanted = given.type === 'status' && given.status === 'stopped' && this.#firstSignalMs !== null;
    // Earlier connection problems are not the reason for a requested end.
    const event = isWanted ? { ...given, reason: null, code: null } : this.#withoutRepetition(given);
    this.#state.apply(event, this.#ports.nowMs());
    reporter.event(event);
    if (event.type === 'bound' || event.type === 'unbound') this.#docker?.tunnelChanged();
    if (event.type === 'status' && event.status === 'stopped') this.#stopped.resolve(this.#exitCode());
    if (event.type === 'unbound' && !event.retry && this.#isUseless()) this.#stopped.resolve(EXIT_FAILED);
  }

  /** Refused tunnels have already reported their reason. */
  #withoutRepetition(event: AgentEvent): AgentEvent {
    const isLast = event.type === 'status' && event.status === 'stopped' && this.#isUseless();
    return isLast ? { ...event, code: ALL_REFUSED } : event;
  }

  #exitCode(): number {
    const { reason, code } = this.#state;
    return this.#firstSignalMs !== null || reason === null || code === STOPPED_BY_SERVER ? 0 : EXIT_FAILED;
  }

  /** Every tunnel was refused permanently. */
  #isUseless(): boolean {
    if (this.#options.docker !== null) return false;
    const tunnels = this.#agent?.tunnels ?? [];
    return tunnels.length > 0 && tunnels.every(({ status }) => status === 'refused');
  }

  /**
   * The agent's state in memory is in doubt: requests in progress finish, then it exits and its supervisor restarts it.
   */
  #onFailure(error: unknown): void {
    this.#context.warn(`postern: uncaught exception, stopping the agent: ${stackOf(error)}`);
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    setTimeout(() => this.#ports.process.exit(EXIT_FAILED), DRAIN_WITHIN_MS).unref();
    if (this.#agent === null) this.#ports.process.exit(EXIT_FAILED);
    else
      this.#agent
        .close()
        .finally(() => this.#stopped.resolve(EXIT_FAILED))
        .catch(() => {});
  }

  #onSignal(): void {
    const nowMs = performance.now();
    if (this.#firstSignalMs === null) {
      this.#firstSignalMs = nowMs;
      this.#state.isStopping = true;
      this.#reporter?.stopping();
      if (this.#agent === null) return;
      this.#agent.close().then(
        () => this.#stopped.resolve(0),
        (error: unknown) => this.#stopped.reject(error),
      );
      return;
    }
    if (nowMs - this.#firstSignalMs < SAME_SIGNAL_MS) return;
    this.#reporter?.end();
    this.#ports.process.exit(EXIT_FAILED);
  }
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
