import { realpathSync } from 'node:fs';
import { atMost } from '../../lib/async/deadline.ts';
import { until } from '../../lib/async/until.ts';
import { messageOf } from '../../lib/error-text.ts';
import { reporting } from '../../lib/guarded-listeners.ts';
import { ListeningSockets } from '../sockets/listening-sockets.ts';
import { programVersion } from '../version.ts';
import { Channel, type ChannelEnd } from './channel.ts';
import { CHANNEL_DESCRIPTOR } from './child-channel.ts';
import { closeInheritedSockets } from './close-inherited-sockets.ts';
import { handoverFailed } from './handover-failed.ts';
import { HANDOVER_PROTOCOL, HANDOVER_VARIABLE, type OfferedStore, type OldToNew } from './messages.ts';

type Offer = Extract<OldToNew, { readonly t: 'offer' }>;

/** What the new process does when the old one lets it. */
export interface TakeOver {
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
 * connect here, visitors still go there) → *draining* (all connections come here) → *gone*. If it dies at any step, this
 * process continues alone: it already has the sockets.
 */
export class Predecessor {
  readonly sockets: ListeningSockets;
  /** Its version. */
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
    // It ends this process.
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
