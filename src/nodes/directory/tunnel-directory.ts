import { reportBug } from '../../lib/bug-report.ts';
import { LabelIndex } from '../../lib/label-index.ts';
import type { AnnouncedSession, AnnouncedTunnel, RemoteDirectory } from './announced.ts';
import { Announcement, type Claim } from './announcement.ts';
import { DirectorySession } from './directory-session.ts';
import { DirectoryTunnel, nameKeyOf, type Ways } from './directory-tunnel.ts';
import { Owners } from './owners.ts';
import type { RefusalLog } from './refusal-log.ts';
import { rightClaims } from './right-claims.ts';
import { Slices } from './slices.ts';

type Labels = Readonly<Record<string, string>>;
type HomeLost = Parameters<RemoteDirectory['onHomeLost']>[0];

export interface DirectoryOptions extends Ways {
  readonly ownNodeId: string;
  readonly log: RefusalLog;
}

/** Follows what becomes of tunnels. */
export interface DirectoryListener {
  /** The tunnel is listed, or its document changed. */
  onListed(tunnel: DirectoryTunnel): void;
  onUnlisted(tunnel: DirectoryTunnel): void;
  /** Other nodes reach a tunnel that has the right to its public address, or no longer do. */
  onServed(tunnel: DirectoryTunnel): void;
  /** `isLost`: with the link to a node, not because a node says so. */
  onUnserved(tunnel: DirectoryTunnel, isLost: boolean): void;
}

/**
 * Everything that nodes announce, this one included. Each change settles the session that it concerns: which claims are
 * right, and from them its tunnels, who holds each, and which names they have.
 */
export class TunnelDirectory implements RemoteDirectory {
  readonly own: Announcement;
  readonly #options: DirectoryOptions;
  readonly #sessions = new Map<string, DirectorySession>();
  readonly #ids = new Owners<DirectoryTunnel>();
  readonly #names = new Owners<DirectoryTunnel>();
  /** Those that other nodes can reach: what a request looks up. */
  readonly #remote = new Map<string, DirectoryTunnel>();
  readonly #labels = new LabelIndex<DirectoryTunnel>();
  readonly #served = new Set<DirectoryTunnel>();
  readonly #homeLost = new Set<HomeLost>();
  readonly #listeners = new Set<DirectoryListener>();
  readonly #slices = new Slices();
  #generation = 0;

  constructor(options: DirectoryOptions) {
    this.#options = options;
    this.own = new Announcement(options.ownNodeId, true);
  }

  /** Increases when a tunnel of another node comes or goes. */
  get generation(): number {
    return this.#generation;
  }

  /** Tunnels of other nodes. */
  get size(): number {
    return this.#remote.size;
  }

  /** Whether everything of lost nodes has been removed. */
  get isSwept(): boolean {
    return this.#slices.isIdle;
  }

  remoteTunnel(id: string): DirectoryTunnel | undefined {
    return this.#remote.get(id);
  }

  remoteMatching(labels: Labels): readonly DirectoryTunnel[] {
    const found = this.#labels.matching(labels);
    return found.every((tunnel) => tunnel.isReachable) ? found : found.filter((tunnel) => tunnel.isReachable);
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

  /** Takes everything of it out of rotation at once, and out of memory in slices. */
  retire(by: Announcement): void {
    if (!by.isUp) return;
    by.isUp = false;
    this.#generation += 1;
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
    const tunnel = this.#names.get(key);
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
    entry.right = rightClaims(claims, before, entry.verdicts, false);
    for (const { by, session } of entry.right.refused) {
      if (!before.refused.some((claim) => claim.by === by && claim.session === session)) {
        this.#options.log.refused(by.nodeId, 'another node has this session', {
          session: session.id,
          epoch: session.epoch,
        });
      }
    }
    for (const id of entry.tunnels.keys()) this.#settleTunnel(entry, id);
    for (const { tunnels } of entry.right.counted) {
      for (const id of tunnels.keys()) if (!entry.tunnels.has(id)) this.#settleTunnel(entry, id);
    }
    if (home !== null && !home.by.isOwn && entry.home === null) this.#lostHome(home);
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
      if (known !== undefined) this.#remove(entry, known);
      if (announced === undefined) return;
    }
    const epoch = counted[0]?.session.epoch ?? 0;
    const tunnel = entry.tunnels.get(id) ?? new DirectoryTunnel(announced, epoch, this.#options);
    entry.tunnels.set(id, tunnel);
    tunnel.announced = announced;
    tunnel.epoch = epoch;
    tunnel.holders = having.filter(({ by }) => !by.isOwn).map(({ by }) => by);
    this.#rank(tunnel);
  }

  #rank(tunnel: DirectoryTunnel): void {
    const loser = this.#ids.add(tunnel.id, tunnel);
    this.#report(loser, 'another session has this tunnel');
    if (loser !== null && loser !== tunnel) this.#refresh(loser);
    this.#refresh(tunnel);
    const owner = this.#ids.get(tunnel.id);
    if (owner !== undefined && owner !== tunnel) this.#refresh(owner);
  }

  #remove(entry: DirectorySession, tunnel: DirectoryTunnel): void {
    entry.tunnels.delete(tunnel.id);
    const isLost = tunnel.holders.some(({ isUp }) => !isUp);
    tunnel.holders = [];
    const next = this.#ids.remove(tunnel.id, tunnel);
    this.#refresh(tunnel, isLost);
    if (next !== null) this.#refresh(next);
    else if (this.#ids.get(tunnel.id) === undefined) for (const each of this.#listeners) each.onUnlisted(tunnel);
  }

  /** Whether traffic can use it, after anything about it changed. */
  #refresh(tunnel: DirectoryTunnel, isLost = false): void {
    const { id, announced } = tunnel;
    const isOwner = this.#ids.get(id) === tunnel;
    const isRemote = isOwner && tunnel.holders.length > 0;
    const isKnown = this.#remote.get(id) === tunnel;
    if (isRemote !== isKnown) this.#generation += 1;
    if (isRemote && !isKnown) {
      this.#remote.set(id, tunnel);
      this.#labels.add(tunnel, announced.labels);
    } else if (isKnown && !isRemote) {
      this.#remote.delete(id);
      this.#labels.remove(tunnel, announced.labels);
    }
    if (isOwner) for (const each of this.#listeners) each.onListed(tunnel);
    if (announced.endpoint !== null) this.#refreshName(tunnel, nameKeyOf(announced.endpoint), isOwner, isLost);
  }

  /** Only the owner of a tunnel's id competes for its name. */
  #refreshName(tunnel: DirectoryTunnel, key: string, isOwner: boolean, isLost: boolean): void {
    const other = isOwner ? this.#names.add(key, tunnel) : this.#names.remove(key, tunnel);
    if (isOwner) this.#report(other, 'another session has this name');
    if (other !== null && other !== tunnel) this.#refreshService(other, key);
    this.#refreshService(tunnel, key, isLost);
    const owner = this.#names.get(key);
    if (owner !== undefined && owner !== tunnel) this.#refreshService(owner, key);
  }

  #refreshService(tunnel: DirectoryTunnel, key: string, isLost = false): void {
    const isServed = this.#remote.get(tunnel.id) === tunnel && this.#names.get(key) === tunnel;
    if (isServed === this.#served.has(tunnel)) return;
    if (isServed) this.#served.add(tunnel);
    else this.#served.delete(tunnel);
    for (const each of this.#listeners) {
      if (isServed) each.onServed(tunnel);
      else each.onUnserved(tunnel, isLost);
    }
  }

  #report(loser: DirectoryTunnel | null, reason: string): void {
    const [holder] = loser?.holders ?? [];
    if (loser === null || holder === undefined) return;
    this.#options.log.refused(holder.nodeId, reason, {
      session: loser.sessionId,
      tunnel: loser.id,
      epoch: loser.epoch,
    });
  }
}

/** Labels, name and port of a tunnel never change: another address is another tunnel. */
function isSameAddress(a: AnnouncedTunnel, b: AnnouncedTunnel): boolean {
  if (a === b) return true;
  const [one, other] = [a.endpoint, b.endpoint];
  if (one !== null && other !== null) return one.id === other.id && nameKeyOf(one) === nameKeyOf(other);
  return one === other && JSON.stringify(a.labels) === JSON.stringify(b.labels);
}
