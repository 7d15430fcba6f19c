import { LabelIndex } from '../../protocol/label-index.ts';
import type { RefusalLog } from './announced.ts';
import { type DirectoryTunnel, nameKeyOf, Owners } from './directory-tunnel.ts';

/** Follows changes of tunnels. */
export interface TunnelListener {
  /** The tunnel is listed, or its document changed. */
  onListed(tunnel: DirectoryTunnel): void;
  onUnlisted(tunnel: DirectoryTunnel): void;
  /** Other nodes reach a tunnel that has the right to its public address. */
  onServed(tunnel: DirectoryTunnel): void;
  /** No other node reaches the tunnel, or it lost the right to its address. `isLost`: by the loss of a link. */
  onUnserved(tunnel: DirectoryTunnel, isLost: boolean): void;
}

export interface TunnelIndexOptions {
  readonly log: RefusalLog;
  readonly listeners: Iterable<TunnelListener>;
  /** See `Owners`. */
  readonly keepsIncumbent: boolean;
  /** Several sessions have the same tunnel, or, if `name` is given, the same name. */
  onConflict(name: string | null, tunnels: readonly DirectoryTunnel[]): void;
}

/** Tunnels by id, name and labels. Each id and each name has one tunnel. */
export class TunnelIndex {
  readonly #options: TunnelIndexOptions;
  readonly #ids: Owners<DirectoryTunnel>;
  readonly #names: Owners<DirectoryTunnel>;
  /** Tunnels that other nodes can reach. Requests look them up here. */
  readonly #remote = new Map<string, DirectoryTunnel>();
  readonly #labels = new LabelIndex<DirectoryTunnel>();
  readonly #served = new Set<DirectoryTunnel>();
  #generation = 0;

  constructor(options: TunnelIndexOptions) {
    this.#options = options;
    this.#ids = new Owners(options.keepsIncumbent);
    this.#names = new Owners(options.keepsIncumbent);
  }

  get generation(): number {
    return this.#generation;
  }

  get size(): number {
    return this.#remote.size;
  }

  allRemote(): Iterable<DirectoryTunnel> {
    return this.#remote.values();
  }

  remote(id: string): DirectoryTunnel | undefined {
    return this.#remote.get(id);
  }

  remoteMatching(labels: Readonly<Record<string, string>>): readonly DirectoryTunnel[] {
    const found = this.#labels.matching(labels);
    return found.every((tunnel) => tunnel.isReachable) ? found : found.filter((tunnel) => tunnel.isReachable);
  }

  nameOwner(key: string): DirectoryTunnel | undefined {
    return this.#names.get(key);
  }

  /** A holder was lost: callers must select tunnels again, before the holder's tunnels are removed one by one. */
  reconsider(): void {
    this.#generation += 1;
  }

  /** The store says that the session `sessionId` has the name. */
  decideName(key: string, sessionId: string): void {
    const former = this.#names.get(key);
    this.#names.decide(key, sessionId);
    const owner = this.#names.get(key);
    if (owner === former) return;
    if (former !== undefined) this.#refreshService(former, key);
    if (owner !== undefined) this.#refreshService(owner, key);
  }

  /** Adds the tunnel, or ranks it again after a change of the tunnel. */
  rank(tunnel: DirectoryTunnel): void {
    const loser = this.#ids.add(tunnel.id, tunnel);
    if (loser !== null) this.#conflict(null, loser, this.#ids.get(tunnel.id));
    if (loser !== null && loser !== tunnel) this.#refresh(loser);
    this.#refresh(tunnel);
    const owner = this.#ids.get(tunnel.id);
    if (owner !== undefined && owner !== tunnel) this.#refresh(owner);
  }

  remove(tunnel: DirectoryTunnel): void {
    const isLost = tunnel.holders.some(({ isUp }) => !isUp);
    tunnel.holders = [];
    const next = this.#ids.remove(tunnel.id, tunnel);
    this.#refresh(tunnel, isLost);
    if (next !== null) this.#refresh(next);
    else if (this.#ids.get(tunnel.id) === undefined)
      for (const each of this.#options.listeners) each.onUnlisted(tunnel);
  }

  /** Decides again whether traffic can use the tunnel, after a change of the tunnel. */
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
    if (isOwner) for (const each of this.#options.listeners) each.onListed(tunnel);
    if (announced.endpoint !== null) this.#refreshName(tunnel, nameKeyOf(announced.endpoint), isOwner, isLost);
  }

  /** Only the owner of a tunnel's id competes for its name. */
  #refreshName(tunnel: DirectoryTunnel, key: string, isOwner: boolean, isLost: boolean): void {
    const other = isOwner ? this.#names.add(key, tunnel) : this.#names.remove(key, tunnel);
    if (isOwner && other !== null) this.#conflict(key, other, this.#names.get(key));
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
    for (const each of this.#options.listeners) {
      if (isServed) each.onServed(tunnel);
      else each.onUnserved(tunnel, isLost);
    }
  }

  #conflict(name: string | null, loser: DirectoryTunnel, owner: DirectoryTunnel | undefined): void {
    const [holder] = loser.holders;
    if (loser.sessionId === owner?.sessionId) return;
    const reason = name === null ? 'another session has this tunnel' : 'another session has this name';
    const { sessionId: session, id: tunnel, epoch } = loser;
    if (holder !== undefined) this.#options.log.refused(holder.nodeId, reason, { session, tunnel, epoch });
    this.#options.onConflict(name, owner === undefined ? [loser] : [loser, owner]);
  }
}
