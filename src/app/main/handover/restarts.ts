import { chmod, mkdir, readdir, rm } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { messageOf } from '../../../kit/error-text.ts';
import {
  closing,
  ignoreErrors,
  type ListenerOwner,
  listen,
  listenOnce,
  listenPer,
  reporting,
} from '../../../kit/guarded-listeners.ts';
import { formatListenAddress } from '../../../kit/net/listen-address.ts';
import { dialled } from '../../cli/doctor/dial.ts';
import {
  type AdministratorLinkReply,
  controlDirectory,
  DEFAULT_TIMEOUT_SECONDS,
  isAdministratorLinkRequest,
  isLocalSessionRequest,
  isRestartRequest,
  type LocalSessionReply,
  type Program,
  type RestartReply,
  type RestartRequest,
  thisProgram,
  unsafeDirectory,
} from '../../cli/restart/control-protocol.ts';
import type { RunningServer } from '../running-server.ts';
import { handoverFailed } from './channel.ts';
import { handOver, type Successor } from './hand-over.ts';

const MAX_REQUEST_BYTES = 65_536;
/** Paths of Unix sockets are short: sun_path of unix(7). */
const MAX_PATH_BYTES = 107;

interface ControlSocket {
  /** Accepts no more requests. Replies to those in progress are still sent. */
  close(): void;
}

interface ControlHandlers {
  restart(request: RestartRequest, reply: (reply: RestartReply) => void): Promise<void>;
  administratorLink(): Promise<string | null>;
  localSession(): LocalSessionReply;
}

/**
 * Where `postern restart` asks this server to hand over, and commands without an API key for a token. Only root and the
 * user who runs the server can connect, and they could as well read its keys or end the process.
 */
export async function openControlSocket(dataDir: string, handlers: ControlHandlers): Promise<ControlSocket> {
  const directory = controlDirectory(dataDir);
  const path = join(directory, `${process.pid}.sock`);
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) {
    throw new Error(`the path of the data directory is too long for a socket in it: ${path}`);
  }
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const problem = await unsafeDirectory(directory);
  if (problem !== null) throw new Error(problem);
  await removeStale(directory);
  const server = createServer();
  const ownerOf = (socket: Socket): ListenerOwner => closing(socket, 'control socket');
  listenPer(server, 'connection', ownerOf, (socket: Socket) => serve(socket, handlers));
  await opened(server, path);
  await chmod(path, 0o600);
  return { close: () => server.close() };
}

function serve(socket: Socket, handlers: ControlHandlers): void {
  ignoreErrors(socket);
  const owner = closing(socket, 'control socket');
  const reply = (message: RestartReply | AdministratorLinkReply | LocalSessionReply): void => {
    if (socket.writable) socket.write(`${JSON.stringify(message)}\n`);
    if ('ok' in message) socket.end();
  };
  let text = '';
  let isRead = false;
  socket.setEncoding('utf8');
  listen(socket, 'data', owner, (part: string) => {
    if (isRead) return;
    text += part;
    const end = text.indexOf('\n');
    if (end === -1 && text.length > MAX_REQUEST_BYTES) socket.destroy();
    if (end === -1) return;
    isRead = true;
    const request = parsed(text.slice(0, end));
    const failed = (error: unknown): void => reply({ ok: false, message: messageOf(error) });
    if (isRestartRequest(request)) handlers.restart(request, reply).catch(failed);
    else if (isAdministratorLinkRequest(request)) {
      handlers.administratorLink().then((url) => reply({ ok: true, url }), failed);
    } else if (isLocalSessionRequest(request)) reply(handlers.localSession());
    else reply({ ok: false, message: 'this version of the server does not know the request' });
  });
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}

function opened(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    listenOnce(server, 'error', { contain: reject }, reject);
    server.listen(path, () => {
      ignoreErrors(server);
      resolve();
    });
  });
}

/** Sockets of servers that were killed. */
async function removeStale(directory: string): Promise<void> {
  const paths = (await readdir(directory))
    .filter((name) => name.endsWith('.sock'))
    .map((name) => join(directory, name));
  await Promise.all(paths.map(async (path) => ((await isServed(path)) ? null : rm(path, { force: true }))));
}

function isServed(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const owner = closing(socket, 'control socket');
    listenOnce(socket, 'error', owner, () => resolve(false));
    listenOnce(socket, 'connect', owner, () => {
      socket.destroy();
      resolve(true);
    });
  });
}

const SECOND_MS = 1_000;

interface RestartsOptions {
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
      // The log of the restart reports a failure.
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
