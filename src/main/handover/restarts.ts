import { dialled } from '../../cli/doctor/dial.ts';
import {
  DEFAULT_TIMEOUT_SECONDS,
  type LocalSessionReply,
  type Program,
  type RestartReply,
  type RestartRequest,
  thisProgram,
} from '../../cli/restart/control-protocol.ts';
import { listen, reporting } from '../../lib/guarded-listeners.ts';
import { formatListenAddress } from '../../lib/net/listen-address.ts';
import type { RunningServer } from '../running-server.ts';
import { type ControlSocket, openControlSocket } from './control-socket.ts';
import { handOver, type Successor } from './hand-over.ts';
import { handoverFailed } from './handover-failed.ts';

const SECOND_MS = 1_000;

export interface RestartsOptions {
  /** Flags of this server. */
  readonly args: readonly string[];
  /** The environment that it was started with. */
  readonly env: NodeJS.ProcessEnv;
  readonly dataDir: string;
  /** Whether the API speaks TLS. */
  readonly isApiTls: boolean;
}

/**
 * Hands over to a new process when asked: by `postern restart`, or by SIGUSR2, which starts the same program again. One
 * attempt at a time; a failed one leaves this process as it was.
 */
export class Restarts {
  /** Resolves when another process serves. */
  readonly handedOver: Promise<Successor>;
  readonly #server: RunningServer;
  readonly #args: readonly string[];
  readonly #env: NodeJS.ProcessEnv;
  readonly #resolve: (successor: Successor) => void;
  readonly #abort = new AbortController();
  #control: ControlSocket | null = null;
  #running: Promise<Successor> | null = null;

  private constructor(server: RunningServer, { args, env }: RestartsOptions) {
    const { promise, resolve } = Promise.withResolvers<Successor>();
    this.#server = server;
    this.#args = args;
    this.#env = env;
    this.handedOver = promise;
    this.#resolve = resolve;
  }

  static async open(server: RunningServer, options: RestartsOptions): Promise<Restarts> {
    const restarts = new Restarts(server, options);
    const { logger } = server.log;
    listen(process, 'SIGUSR2', reporting('restart'), () => {
      // Its log reports a failure.
      restarts.#restart(thisProgram(), DEFAULT_TIMEOUT_SECONDS).catch(() => {});
    });
    try {
      restarts.#control = await openControlSocket(options.dataDir, {
        restart: (request, reply) => restarts.#asked(request, reply),
        administratorLink: () => server.administratorLink(),
        localSession: () => localSession(server, options.isApiTls),
      });
    } catch (err) {
      logger.warn(
        { err },
        'commands on this machine cannot reach this server without an API key, and neither can postern restart: send it SIGUSR2 instead',
      );
    }
    return restarts;
  }

  /** This process stops: a new one that is not serving yet must not take over. */
  async close(): Promise<void> {
    this.#control?.close();
    this.#abort.abort();
    await this.#running?.catch(() => {});
  }

  async #asked(request: RestartRequest, reply: (reply: RestartReply) => void): Promise<void> {
    reply({ say: `Process ${process.pid} starts ${[request.command, ...request.args].join(' ')}` });
    const { pid, version } = await this.#restart(request, request.timeout_seconds);
    reply({ ok: true, pid, version });
  }

  async #restart(program: Program, timeoutSeconds: number): Promise<Successor> {
    const { logger } = this.#server.log;
    if (this.#running !== null) throw handoverFailed('another restart is in progress');
    this.#running = this.#handOver(program, timeoutSeconds * SECOND_MS);
    try {
      const successor = await this.#running;
      this.#control?.close();
      logger.info({ pid: successor.pid, version: successor.version }, 'another process has taken over');
      this.#resolve(successor);
      return successor;
    } catch (err) {
      logger.error({ err }, 'no other process took over: this one continues');
      this.#running = null;
      throw err;
    }
  }

  async #handOver(program: Program, timeoutMs: number): Promise<Successor> {
    const { log, handover } = this.#server;
    if (process.platform === 'win32') throw handoverFailed('sockets cannot be handed over on Windows');
    if (process.pid === 1) {
      throw handoverFailed('the first process of a container cannot be replaced: start another container beside it');
    }
    // The process before this one may still be draining.
    await handover.owned;
    const args = [...program.args, 'server', ...this.#args];
    return handOver(handover, {
      command: program.command,
      args,
      env: this.#env,
      timeoutMs,
      logger: log.logger,
      signal: this.#abort.signal,
    });
  }
}

function localSession(server: RunningServer, isTls: boolean): LocalSessionReply {
  const token = server.localToken();
  if (token === null) return { ok: false, message: 'its setting local_commands is off' };
  return {
    ok: true,
    url: `${isTls ? 'https' : 'http'}://${formatListenAddress(dialled(server.addresses.api))}`,
    ...token,
  };
}
