import { closeSync, readdirSync, readlinkSync, realpathSync } from 'node:fs';
import type { Logger } from 'pino';
import { atMost, until } from '../../../kit/async/waiting.ts';
import { messageOf } from '../../../kit/error-text.ts';
import { reporting } from '../../../kit/guarded-listeners.ts';
import type { StoreSharing } from '../../../store/store.ts';
import { ListeningSockets } from '../sockets/listening-sockets.ts';
import { programVersion } from '../version.ts';
import {
  CHANNEL_DESCRIPTOR,
  Channel,
  type ChannelEnd,
  HANDOVER_PROTOCOL,
  HANDOVER_VARIABLE,
  handoverFailed,
  type OfferedStore,
  type OldToNew,
} from './channel.ts';

const FOLDER = '/proc/self/fd';
const STANDARD = [0, 1, 2];

/**
 * Closes the sockets that this process has inherited without being offered them. The runtime copies the descriptor of a
 * connection that it hands to a worker without close-on-exec (Node 26.10). So a process that is started meanwhile has
 * it too, and the client would never see the end of its connection. Call it before this process opens sockets of its
 * own.
 */
function closeInheritedSockets(offered: readonly number[]): void {
  const kept = new Set([...STANDARD, ...offered]);
  for (const fd of descriptors()) if (!kept.has(fd) && isSocket(fd)) closeSync(fd);
}

/** None on a system that does not list them. */
function descriptors(): readonly number[] {
  try {
    return readdirSync(FOLDER).map(Number);
  } catch {
    return [];
  }
}

function isSocket(fd: number): boolean {
  try {
    return readlinkSync(`${FOLDER}/${fd}`).startsWith('socket:');
  } catch {
    // The descriptor was that of the folder itself.
    return false;
  }
}

type Offer = Extract<OldToNew, { readonly t: 'offer' }>;

/** What the new process does when the old one lets it. */
interface TakeOver {
  acceptAgents(): Promise<void>;
  /** How many of these tunnels are not online here. */
  missingTunnels(tunnels: readonly string[]): number;
  serve(): Promise<void>;
}

const END_WITHIN_MS = 5_000;
/** An agent that is away does not hold up the handover: it would not be reachable through the old process either. */
const WAIT_FOR_AGENTS_MS = 10_000;

/**
 * The process that hands over to this one. States: *offering* (this process loads everything) → *moving* (agents
 * connect here, visitors still go there) → *draining* (all connections come here) → *gone*. If it dies at any step,
 * this process continues alone: it already has the sockets.
 */
export class Predecessor {
  readonly sockets: ListeningSockets;
  /** Version of the old process. */
  readonly version: string;
  readonly store: OfferedStore;
  readonly #channel: Channel;

  private constructor(channel: Channel, sockets: ListeningSockets, { version, store }: Offer) {
    this.#channel = channel;
    this.sockets = sockets;
    this.version = version;
    this.store = store;
  }

  /** Null in a process that was started in the usual way. */
  static async find(env: NodeJS.ProcessEnv, end: ChannelEnd = process): Promise<Predecessor | null> {
    if (env[HANDOVER_VARIABLE] === undefined) return null;
    delete env[HANDOVER_VARIABLE];
    const channel = new Channel(end, reporting('handover'));
    const offer = await channel.next('offer');
    if (offer === null) throw handoverFailed('the process that started this one to take over is gone');
    if (offer.protocol !== HANDOVER_PROTOCOL) {
      throw handoverFailed(
        `version ${offer.version} hands over in a way that this version does not know: stop it, then start this one`,
      );
    }
    closeInheritedSockets([CHANNEL_DESCRIPTOR, ...offer.sockets.map(({ fd }) => fd)]);
    const sockets = offer.sockets.map(({ name, fd, wanted, address }) => ({ name, fd, wanted, address }));
    return new Predecessor(channel, new ListeningSockets(sockets, true), offer);
  }

  /** A handover is of one store: in another directory, this process would begin with other keys, or none. */
  refuseOtherDirectory(dataDir: string): void {
    const { data_dir: offered } = this.store;
    if (realPathOf(dataDir) === realPathOf(offered)) return;
    throw handoverFailed(
      `the running server uses the data directory ${offered}, and the settings now name ${dataDir}: a handover keeps the store. Set data_dir back; or stop the server, move the directory, and start it`,
    );
  }

  /** Resolves when it has exited. */
  get gone(): Promise<void> {
    return this.#channel.closed;
  }

  /** Resolves when it delivers no more events. */
  async deliveryEnded(): Promise<void> {
    await this.#channel.next('delivery_ended');
  }

  /** Reports why this process cannot take over; the old one then goes on. */
  async failed(error: unknown): Promise<void> {
    const message = messageOf(error);
    this.#channel.send({ t: 'failed', message });
    // The old process ends this process.
    await atMost(this.gone, END_WITHIN_MS, null);
  }

  /** Everything is loaded: takes over step by step. */
  async takeOver(steps: TakeOver): Promise<void> {
    this.#channel.send({ t: 'prepared', version: programVersion() });
    for (;;) {
      const message = await this.#channel.next('accept_agents', 'await_agents', 'serve');
      if (message === null || message.t === 'serve') break;
      if (message.t === 'accept_agents') {
        await steps.acceptAgents();
        this.#channel.send({ t: 'accepting_agents' });
      } else void this.#awaitAgents(steps, message.tunnels);
    }
    await steps.serve();
    this.#channel.send({ t: 'serving' });
  }

  async #awaitAgents(steps: TakeOver, tunnels: readonly string[]): Promise<void> {
    await until(() => steps.missingTunnels(tunnels) === 0, WAIT_FOR_AGENTS_MS);
    this.#channel.send({ t: 'agents_here', missing: steps.missingTunnels(tunnels) });
  }
}

/** As given if it does not exist. */
function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/** Resolves when the process before this one has exited, and the store belongs to this one. Never rejects. */
export async function ownedStore(
  predecessor: Predecessor | null,
  sharing: StoreSharing,
  logger: Logger,
): Promise<void> {
  if (predecessor === null) return;
  await predecessor.gone;
  try {
    await sharing.own();
  } catch (err) {
    logger.error({ err }, 'failed to take over the data directory');
  }
}
