import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Logger } from 'pino';
import { atMost } from '../../../kit/async/waiting.ts';
import { reporting } from '../../../kit/guarded-listeners.ts';
import type { Store } from '../../../store/store.ts';
import { descriptorOf, type OpenSocket } from '../sockets/listening-sockets.ts';
import { programVersion } from '../version.ts';
import {
  CHANNEL_ENV,
  Channel,
  ChildChannel,
  HANDOVER_PROTOCOL,
  HANDOVER_VARIABLE,
  handoverFailed,
  type NewToOld,
  type OfferedSocket,
} from './channel.ts';

/** What the old process can hand over. */
export interface HandoverParts {
  /** Resolves when this process has the store for itself: the one before it has exited. */
  readonly owned: Promise<void>;
  sockets(): readonly OpenSocket[];
  readonly store: Pick<Store, 'mark'> & { readonly dataDir: string };
  readonly sharing: { begin(): void; end(): void };
  /** Null without a gateway. */
  readonly agents: MovingAgents | null;
}

export interface MovingAgents {
  /** Stops accepting agents, and asks those that are here to connect again. Returns their tunnels. */
  sendAway(): readonly string[];
  /** How many of them can still be reached through this process. */
  remaining(): number;
  /** The new process failed: accepts agents again. */
  takeBack(): Promise<void>;
}

export interface HandoverOptions {
  readonly command: string;
  readonly args: readonly string[];
  /** The environment that this process was started with. */
  readonly env: NodeJS.ProcessEnv;
  /** For the new process to load everything. */
  readonly timeoutMs: number;
  /** For each later step. */
  readonly stepTimeoutMs?: number;
  readonly logger: Logger;
  /** Ends the attempt, when this process has to stop. */
  readonly signal: AbortSignal;
}

export interface Successor {
  readonly pid: number;
  readonly version: string;
  /** Reports that this process delivers no more events. */
  deliveryEnded(): void;
}

/** Agents have ten seconds to move. */
const STEP_TIMEOUT_MS = 30_000;
const LOOK_FOR_AGENTS_MS = 25;
/** Between the end of its channel and the exit of a process. */
const EXIT_GRACE_MS = 2_000;
/** Standard streams and the channel come before the sockets. */
const FIRST_SOCKET = 4;

/**
 * Starts the new program with this process's listening sockets, and lets it take over when it is ready. Until it
 * serves, every failure (it exits, reports a problem, or is too slow) ends it and leaves everything to this process.
 */
export async function handOver(parts: HandoverParts, options: HandoverOptions): Promise<Successor> {
  const { logger, stepTimeoutMs = STEP_TIMEOUT_MS } = options;
  const open = parts.sockets().flatMap((socket) => {
    const fd = descriptorOf(socket.server);
    return fd === null ? [] : [{ ...socket, fd }];
  });
  // Before anything is started: this process may have lost its files.
  const store = { data_dir: parts.store.dataDir, commit: await parts.store.mark() };
  parts.sharing.begin();
  const child = started(
    options,
    open.map(({ fd }) => fd),
    () => parts.sharing.end(),
  );
  const owner = reporting('handover');
  const channel = new Channel(new ChildChannel(child, owner), owner);
  const problem = once(child, 'error').then(([error]) => (error as Error).message);
  let areAgentsAway = false;
  const over = new AbortController();
  const stopping = stopped(options.signal, over.signal);
  try {
    const ask = async <Name extends NewToOld['t']>(name: Name, timeoutMs: number) => {
      const next = Promise.race([channel.next<NewToOld['t']>(name, 'failed'), stopping]);
      const found = await atMost(next, timeoutMs, 'late' as const);
      if (found === 'late') throw handoverFailed(`process ${child.pid} did not get ready within ${timeoutMs / 1000} s`);
      if (found === null) throw await exitOf(child, problem);
      if (found.t === 'failed') throw handoverFailed(String(found.message));
      return found as Extract<NewToOld, { readonly t: Name }>;
    };
    const sockets = open.map(
      ({ name, wanted, address }, at): OfferedSocket => ({ name, wanted, address, fd: FIRST_SOCKET + at }),
    );
    channel.send({ t: 'offer', protocol: HANDOVER_PROTOCOL, version: programVersion(), sockets, store });
    const { version } = await ask('prepared', options.timeoutMs);
    logger.info({ pid: child.pid, version }, 'a new process is ready to take over');
    if (parts.agents !== null) {
      channel.send({ t: 'accept_agents' });
      await ask('accepting_agents', stepTimeoutMs);
      areAgentsAway = true;
      const tunnels = parts.agents.sendAway();
      channel.send({ t: 'await_agents', tunnels });
      const left = oneLeft(parts.agents, tunnels.length, over.signal);
      const moved = await Promise.race([ask('agents_here', stepTimeoutMs), left]);
      if (moved !== null && moved.missing > 0)
        logger.warn({ missing: moved.missing }, 'some tunnels are not connected to the new process yet');
    }
    channel.send({ t: 'serve' });
    await ask('serving', stepTimeoutMs);
    return { pid: child.pid ?? 0, version, deliveryEnded: () => channel.send({ t: 'delivery_ended' }) };
  } catch (error) {
    await end(child);
    if (areAgentsAway) {
      await parts.agents?.takeBack().catch((err: unknown) => {
        logger.error(
          { err },
          'agents cannot connect: the listener of the gateway could not be opened again. Restart the server',
        );
      });
    }
    parts.sharing.end();
    throw error;
  } finally {
    over.abort();
  }
}

/** Most errors are emitted; some are thrown, such as that of a file that is still being written (ETXTBSY). */
function started({ command, args, env }: HandoverOptions, fds: readonly number[], onFailed: () => void): ChildProcess {
  try {
    return spawn(command, [...args], {
      stdio: ['inherit', 'inherit', 'inherit', 'pipe', ...fds],
      env: { ...env, ...CHANNEL_ENV, [HANDOVER_VARIABLE]: '1' },
    });
  } catch (error) {
    onFailed();
    throw handoverFailed(`the new program cannot be started: ${(error as Error).message}`);
  }
}

/** An agent that has moved may close its connection here: then visitors have to move as well. */
function oneLeft(agents: MovingAgents, before: number, signal: AbortSignal): Promise<null> {
  return new Promise((resolve) => {
    const timer = setInterval(() => {
      if (agents.remaining() < before) resolve(null);
    }, LOOK_FOR_AGENTS_MS);
    signal.addEventListener('abort', () => clearInterval(timer));
  });
}

/** Rejects when this process has to stop. */
function stopped(signal: AbortSignal, over: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  const stop = (): void => reject(handoverFailed('the server is being stopped'));
  // Nothing may wait for it at that moment.
  promise.catch(() => {});
  signal.addEventListener('abort', stop, { signal: over });
  if (signal.aborted) stop();
  return promise;
}

async function exitOf(child: ChildProcess, problem: Promise<string>): Promise<Error> {
  if (child.pid === undefined) return handoverFailed(`the new program cannot be started: ${await problem}`);
  if (child.exitCode === null && child.signalCode === null) {
    const exited = await atMost(once(child, 'exit'), EXIT_GRACE_MS, null);
    if (exited === null) return handoverFailed(`process ${child.pid} closed its channel before it could take over`);
  }
  const how = child.signalCode === null ? `exited with code ${child.exitCode}` : `was ended by ${child.signalCode}`;
  return handoverFailed(`process ${child.pid} ${how} before it could take over; its output says why`);
}

/** By force: a process that hangs must not hold the sockets. */
async function end(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}
