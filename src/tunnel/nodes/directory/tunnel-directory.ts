import { SliceQueue, TimeSlice } from '../../../kit/async/slices.ts';
import { reportBug } from '../../../kit/guarded-listeners.ts';
import type { OnlineTunnel, OnlineTunnels } from '../../../proxy/edge/tunnels/online-tunnels.ts';
import {
  type AnnouncedSession,
  type AnnouncedTunnel,
  Announcement,
  type Claim,
  type RefusalLog,
  type RemoteDirectory,
} from './announced.ts';
import { DirectorySession, DirectoryTunnel, nameKeyOf, type Ways } from './directory-tunnel.ts';
import { OwnershipDisputes, type Rights, rightClaims, variantOf } from './rights.ts';
import { TunnelIndex, type TunnelListener } from './tunnel-index.ts';

/** Long tasks in slices, one after the other. */
export class SlicedTasks {
  readonly #queue = new SliceQueue();
  readonly #tasks: Iterator<unknown>[] = [];
  #isRunning = false;

  get isIdle(): boolean {
    return this.#tasks.length === 0;
  }

  /** The first slice runs at once. */
  run(task: Iterator<unknown>): void {
    this.#tasks.push(task);
    if (!this.#isRunning) void this.#run();
  }

  close(): void {
    this.#tasks.length = 0;
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    const slice = new TimeSlice(this.#queue);
    for (let task = this.#tasks[0]; task !== undefined; task = this.#tasks[0]) {
      // A task may call `close`.
      if (isOver(task) && this.#tasks[0] === task) this.#tasks.shift();
      if (slice.isOver) await slice.next();
    }
    this.#isRunning = false;
  }
}

function isOver(task: Iterator<unknown>): boolean {
  try {
    return task.next().done === true;
  } catch (error) {
    reportBug(error, { part: 'sliced work' });
    return true;
  }
}

type Labels = Readonly<Record<string, string>>;
type HomeLost = Parameters<RemoteDirectory['onHomeLost']>[0];

interface DirectoryOptions extends Ways {
  readonly ownNodeId: string;
  readonly log: RefusalLog;
  /** Absent: the highest epoch decides. */
  readonly rights?: Rights;
}

/** Follows changes of sessions and tunnels. */
export interface DirectoryListener extends TunnelListener {
  /** The session changed. If no claim counts, the session is gone. */
  onSession(session: DirectorySession): void;
}

/**
 * The announcements of all nodes, including this node. Each change settles its session: which claims are right, and
 * from these claims the session's tunnels, the holders of each tunnel, and the tunnels' names.
 */
export class TunnelDirectory implements RemoteDirectory {
  readonly own: Announcement;
  readonly #options: DirectoryOptions;
  readonly #sessions = new Map<string, DirectorySession>();
  readonly #index: TunnelIndex;
  readonly #homeLost = new Set<HomeLost>();
  readonly #listeners = new Set<DirectoryListener>();
  readonly #slices = new SlicedTasks();
  readonly #disputes = new OwnershipDisputes();

  constructor(options: DirectoryOptions) {
    this.#options = options;
    this.own = new Announcement(options.ownNodeId, true);
    this.#index = new TunnelIndex({
      log: options.log,
      listeners: this.#listeners,
      keepsIncumbent: options.rights !== undefined,
      onConflict: (key, tunnels) => this.#disputed(key, tunnels),
    });
  }

  /** Increases when a tunnel of another node comes or goes. */
  get generation(): number {
    return this.#index.generation;
  }

  /** Tunnels of other nodes. */
  get size(): number {
    return this.#index.size;
  }

  /** Whether everything of lost nodes has been removed. */
  get isSwept(): boolean {
    return this.#slices.isIdle;
  }

  remoteTunnels(): Iterable<DirectoryTunnel> {
    return this.#index.allRemote();
  }

  remoteTunnel(id: string): DirectoryTunnel | undefined {
    return this.#index.remote(id);
  }

  remoteMatching(labels: Labels): readonly DirectoryTunnel[] {
    return this.#index.remoteMatching(labels);
  }

  putSession(by: Announcement, session: AnnouncedSession): void {
    const entry = this.#sessions.get(session.id) ?? this.#newSession(session.id);
    const known = by.claims.get(session.id);
    if (known === undefined) {
      const claim: Claim = { by, session, tunnels: new Map() };
      by.claims.set(session.id, claim);
      entry.claims.push(claim);
    } else known.session = session;
    this.#settle(entry);
  }

  removeSession(by: Announcement, id: string): void {
    const claim = by.claims.get(id);
    if (claim === undefined) return;
    by.claims.delete(id);
    by.tunnelCount -= claim.tunnels.size;
    this.#forget(claim);
  }

  /** False: the node has not announced the session. */
  putTunnel(by: Announcement, tunnel: AnnouncedTunnel): boolean {
    const claim = by.claims.get(tunnel.sessionId);
    const entry = this.#sessions.get(tunnel.sessionId);
    if (claim === undefined || entry === undefined) return false;
    if (!claim.tunnels.has(tunnel.id)) by.tunnelCount += 1;
    claim.tunnels.set(tunnel.id, tunnel);
    this.#settleTunnel(entry, tunnel.id);
    return true;
  }

  removeTunnel(by: Announcement, sessionId: string, id: string): void {
    if (by.claims.get(sessionId)?.tunnels.delete(id) !== true) return;
    by.tunnelCount -= 1;
    const entry = this.#sessions.get(sessionId);
    if (entry !== undefined) this.#settleTunnel(entry, id);
  }

  /** Takes all claims of the announcement out of rotation at once, and out of memory in slices. */
  retire(by: Announcement): void {
    if (!by.isUp) return;
    by.isUp = false;
    this.#index.reconsider();
    this.#slices.run(this.#sweep(by));
  }

  session(id: string): { readonly session: AnnouncedSession; readonly holders: readonly string[] } | null {
    const counted = this.#sessions.get(id)?.right.counted.filter(({ by }) => by.isUp && !by.isOwn) ?? [];
    const [first] = counted;
    if (first === undefined) return null;
    return { session: first.session, holders: [...new Set(counted.map(({ by }) => by.nodeId))] };
  }

  *sessions(): Iterable<AnnouncedSession> {
    for (const { right } of this.#sessions.values()) {
      const remote = right.counted.find(({ by }) => by.isUp && !by.isOwn);
      if (remote !== undefined) yield remote.session;
    }
  }

  tunnelsOf(sessionId: string): readonly AnnouncedTunnel[] {
    const tunnels = this.#sessions.get(sessionId)?.tunnels.values() ?? [];
    return [...tunnels].filter((tunnel) => tunnel.isReachable).map(({ announced }) => announced);
  }

  nameHolder(key: string): { readonly sessionId: string; readonly nodeId: string } | null {
    const tunnel = this.#index.nameOwner(key);
    const holder = tunnel?.holders.find(({ isUp }) => isUp);
    if (tunnel === undefined || holder === undefined) return null;
    const home = this.#sessions.get(tunnel.sessionId)?.right.counted[0]?.session.homeNodeId;
    return { sessionId: tunnel.sessionId, nodeId: home ?? holder.nodeId };
  }

  onHomeLost(listener: HomeLost): () => void {
    this.#homeLost.add(listener);
    return () => this.#homeLost.delete(listener);
  }

  follow(listener: DirectoryListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    this.#slices.close();
    this.#disputes.close();
  }

  #newSession(id: string): DirectorySession {
    const entry = new DirectorySession(id);
    this.#sessions.set(id, entry);
    return entry;
  }

  *#sweep(by: Announcement): Generator<undefined> {
    for (const claim of by.claims.values()) {
      this.#forget(claim);
      yield;
    }
    by.claims.clear();
  }

  #forget(claim: Claim): void {
    const entry = this.#sessions.get(claim.session.id);
    if (entry === undefined) return;
    entry.remove(claim);
    this.#settle(entry);
    if (entry.claims.length === 0) this.#sessions.delete(entry.id);
  }

  #settle(entry: DirectorySession): void {
    const { home, right: before } = entry;
    const claims = entry.claims.every(({ by }) => by.isUp) ? entry.claims : entry.claims.filter(({ by }) => by.isUp);
    entry.right = rightClaims(claims, before, entry.verdicts, this.#options.rights !== undefined);
    if (entry.right.unclear !== null) this.#verify(entry, entry.right.unclear);
    for (const { by, session } of entry.right.refused) {
      if (!before.refused.some((claim) => claim.by === by && claim.session === session)) {
        this.#options.log.refused(by.nodeId, 'another node has this session', {
          session: session.id,
          epoch: session.epoch,
        });
      }
    }
    for (const each of this.#listeners) each.onSession(entry);
    for (const id of entry.tunnels.keys()) this.#settleTunnel(entry, id);
    for (const { tunnels } of entry.right.counted) {
      for (const id of tunnels.keys()) if (!entry.tunnels.has(id)) this.#settleTunnel(entry, id);
    }
    if (home !== null && !home.by.isOwn && entry.home === null) this.#lostHome(home);
  }

  /** Asks the store whether the claim is right. */
  #verify(entry: DirectorySession, claim: Claim): void {
    const { rights } = this.#options;
    const variant = variantOf(claim);
    if (rights === undefined || entry.verdicts?.has(variant) === true) return;
    this.#disputes.ask(`${entry.id} ${variant}`, async () => {
      const isRight = await rights.isRight(claim.session);
      if (this.#sessions.get(entry.id) !== entry) return;
      entry.verdicts ??= new Map();
      entry.verdicts.set(variant, isRight);
      this.#settle(entry);
    });
  }

  /** Two sessions have the same tunnel or name: at most one session is real, or has the name in the store. */
  #disputed(name: string | null, tunnels: readonly DirectoryTunnel[]): void {
    const { rights } = this.#options;
    if (rights === undefined) return;
    for (const { sessionId } of tunnels) {
      const entry = this.#sessions.get(sessionId);
      const [claim] = entry?.right.counted ?? [];
      if (entry !== undefined && claim !== undefined && !claim.by.isOwn) this.#verify(entry, claim);
    }
    if (name === null) return;
    this.#disputes.ask(name, async () => {
      const sessionId = await rights.nameOwner(name);
      if (sessionId !== null) this.#index.decideName(name, sessionId);
    });
  }

  #lostHome({ session, tunnels }: Claim): void {
    const all = [...tunnels.values()];
    for (const listener of this.#homeLost) {
      try {
        listener(session, all);
      } catch (error) {
        reportBug(error, { part: 'tunnel directory', session: session.id });
      }
    }
  }

  /** The tunnel follows from the counted claims of its session. */
  #settleTunnel(entry: DirectorySession, id: string): void {
    const { counted } = entry.right;
    const having = counted.filter(({ tunnels }) => tunnels.has(id));
    const announced = having[0]?.tunnels.get(id);
    const known = entry.tunnels.get(id);
    if (announced === undefined || (known !== undefined && !isSameAddress(known.announced, announced))) {
      if (known !== undefined) {
        entry.tunnels.delete(id);
        this.#index.remove(known);
      }
      if (announced === undefined) return;
    }
    const epoch = counted[0]?.session.epoch ?? 0;
    const tunnel = entry.tunnels.get(id) ?? new DirectoryTunnel(announced, epoch, this.#options);
    entry.tunnels.set(id, tunnel);
    tunnel.announced = announced;
    tunnel.epoch = epoch;
    tunnel.holders = having.filter(({ by }) => !by.isOwn).map(({ by }) => by);
    tunnel.isOwn = tunnel.holders.length < having.length;
    this.#index.rank(tunnel);
  }
}

/** Labels, name and port of a tunnel never change: another address is another tunnel. */
function isSameAddress(a: AnnouncedTunnel, b: AnnouncedTunnel): boolean {
  if (a === b) return true;
  const [one, other] = [a.endpoint, b.endpoint];
  if (one !== null && other !== null) return one.id === other.id && nameKeyOf(one) === nameKeyOf(other);
  return one === other && JSON.stringify(a.labels) === JSON.stringify(b.labels);
}

/** The tunnels that traffic can use: tunnels of agents connected here, and tunnels that other nodes reach. */
export class AllTunnels implements OnlineTunnels {
  readonly #local: OnlineTunnels;
  readonly #directory: TunnelDirectory;
  readonly #isUnsettled: () => boolean;

  /** `isUnsettled`: another node is ready, and this node does not know all its announcements yet. */
  constructor(local: OnlineTunnels, directory: TunnelDirectory, isUnsettled: () => boolean) {
    this.#local = local;
    this.#directory = directory;
    this.#isUnsettled = isUnsettled;
  }

  get isUnsettled(): boolean {
    return this.#isUnsettled();
  }

  /** Both generations only increase, so the sum changes whenever one of them changes. */
  get generation(): number {
    return this.#local.generation + this.#directory.generation;
  }

  /** The directory's tunnel comes first: it knows the agent's connections here and on other nodes. */
  get(tunnelId: string): OnlineTunnel | undefined {
    return this.#directory.remoteTunnel(tunnelId) ?? this.#local.get(tunnelId);
  }

  matching(labels: Labels): readonly OnlineTunnel[] {
    const local = this.#local.matching(labels);
    const remote = this.#directory.remoteMatching(labels);
    if (remote.length === 0) return local;
    return [...remote, ...local.filter(({ id }) => this.#directory.remoteTunnel(id)?.isReachable !== true)];
  }
}
