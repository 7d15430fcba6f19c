import { setTimeout as sleep } from 'node:timers/promises';
import { within } from '../../../kit/async/waiting.ts';
import { PosternError } from '../../../kit/errors.ts';
import type { ReportedFinding } from '../../../kit/findings.ts';
import type { FeedPosition, Heartbeat, NodeStore } from '../../../store/node-store.ts';
import type { NodeFacts, NodeRow, NodeStatus } from '../node.ts';
import { nodeFindings } from '../node.ts';
import { type AgreedFacts, Agreement } from './agreement.ts';
import { documentOf, KnownNodes, type NodeCounts } from './known-nodes.ts';
import { type LeaseExpiryListener, type Membership, NODE_LEASE_MS, NODE_RENEW_MS, NodeProblems } from './membership.ts';
import { AskedPeers, NO_PEERS, type PeerRenewal, type RenewalPeers, RenewalsForPeers } from './renewals.ts';
import { DatabaseSilence, ServingRight } from './serving-right.ts';
import { SharedTime } from './shared-time.ts';

/** A heartbeat without an answer within this time has failed. */
const HEARTBEAT_MS = 1_000;
const JOIN_ATTEMPTS = 10;
const LEAVE_MS = 2_000;

interface NodeMembershipOptions {
  readonly store: NodeStore;
  readonly facts: NodeFacts;
  readonly agreed: AgreedFacts;
  /** Called with the values that all nodes have in common, each time the nodes have compared them. */
  readonly onAgreed?: (values: Readonly<Record<string, string>>) => void;
  readonly counts: () => NodeCounts;
  readonly log: MembershipLog;
  /** A clock that nobody sets. */
  readonly monotonicMs?: () => number;
}

/** `from`: the linked node that read the position; null: this node read it from the database. */
type PositionListener = (position: FeedPosition, sentAtMs: number, from: string | null) => void;

type MembershipLog = Readonly<Record<'info' | 'warn' | 'error', (fields: object, message: string) => void>>;

/**
 * This node's membership, on a shared database. A heartbeat every 400 ms renews the lease of this node and reads the
 * other nodes. A heartbeat that fails or has no answer is repeated through linked peers.
 */
export class NodeMembership implements Membership {
  #self: NodeFacts;
  readonly #options: NodeMembershipOptions;
  readonly #monotonicMs: () => number;
  readonly #right: ServingRight;
  readonly #known: KnownNodes;
  readonly #problems = new NodeProblems();
  readonly #agreement: Agreement;
  readonly #onChange = new Set<() => void>();
  readonly #onLeaseExpired = new Set<LeaseExpiryListener>();
  #peers: RenewalPeers = NO_PEERS;
  #status: Exclude<NodeStatus, 'lost'> = 'ready';
  readonly #time: SharedTime;
  readonly #silence: DatabaseSilence;
  readonly #renewals: RenewalsForPeers;
  #beating: Promise<void> | null = null;
  readonly #asked: AskedPeers;
  readonly #onPosition = new Set<PositionListener>();
  #isComparing = false;
  #expiries = 0;
  #isFailing = false;
  /** A heartbeat takes longer than the interval: the next heartbeat follows at once. */
  #isOverdue = false;
  #timer: NodeJS.Timeout | null = null;
  #leaving: Promise<void> | null = null;

  constructor(options: NodeMembershipOptions) {
    const { facts, monotonicMs = () => performance.now() } = options;
    this.#self = facts;
    this.#options = options;
    this.#agreement = new Agreement(options.store, facts.id, options.agreed, options.onAgreed);
    this.#monotonicMs = monotonicMs;
    this.#silence = new DatabaseSilence(monotonicMs);
    this.#renewals = new RenewalsForPeers(options.store);
    this.#time = new SharedTime(monotonicMs, facts.startedAtMs);
    this.#known = new KnownNodes(facts.id);
    this.#asked = new AskedPeers(monotonicMs, (nodeId, sentAtMs, renewal) => this.#take(nodeId, sentAtMs, renewal));
    this.#right = new ServingRight({
      monotonicMs,
      others: () => this.others(),
      isLinked: (id) => this.#peers.isLinked(id),
    });
  }

  get self(): NodeFacts {
    return this.#self;
  }

  /**
   * Takes the first lease; other nodes dial this node at `peerAddress`. Rejects when the other nodes differ in a value
   * that must be equal.
   */
  async join(peerAddress: string | null): Promise<void> {
    const { store, facts } = this.#options;
    // Other nodes send agents to every node with this role, and the listener for agents opens later.
    this.#self = { ...facts, peerAddress, roles: facts.roles.filter((role) => role !== 'gateway') };
    await this.#takeLease();
    try {
      await this.#agreement.reach();
    } catch (error) {
      await store.leave(facts.id).catch(() => {});
      throw error;
    }
    this.#right.recovered();
    await this.beat();
  }

  /** Renews the lease from now on. */
  start(): void {
    this.#timer = setInterval(() => this.#tick(), NODE_RENEW_MS).unref();
  }

  usePeers(peers: RenewalPeers): void {
    this.#peers = peers;
  }

  nodes(): readonly NodeRow[] {
    return [this.#ownRow(), ...[...this.#known.rows.values()].filter(({ id }) => id !== this.self.id)].map((row) =>
      this.#asSeen(row),
    );
  }

  get(id: string): NodeRow | undefined {
    const row = id === this.self.id ? this.#ownRow() : this.#known.rows.get(id);
    return row === undefined ? undefined : this.#asSeen(row);
  }

  /** Other nodes that were ready at the last reading, or are linked. */
  others(): readonly string[] {
    return this.#known.othersWith(this.#peers.linked());
  }

  get isDatabaseAway(): boolean {
    return this.#silence.isAway;
  }

  /** Called with the position of the store's feeds as it was at some time since `sentAtMs`. */
  onPosition(listener: PositionListener): () => void {
    this.#onPosition.add(listener);
    return () => void this.#onPosition.delete(listener);
  }

  mayServe(): boolean {
    return this.#right.may();
  }

  rightLeftMs(): number {
    return this.#right.leftMs();
  }

  nowMs(): number {
    return this.#time.nowMs();
  }

  onChange(listener: () => void): () => void {
    this.#onChange.add(listener);
    return () => this.#onChange.delete(listener);
  }

  onLeaseExpired(listener: LeaseExpiryListener): () => void {
    this.#onLeaseExpired.add(listener);
    return () => this.#onLeaseExpired.delete(listener);
  }

  async setStatus(status: Exclude<NodeStatus, 'lost'>): Promise<void> {
    this.#status = status;
    await this.#beating;
    await this.beat();
    this.#changed();
  }

  setProblem(key: string, problem: ReportedFinding | null): void {
    this.#problems.set(key, problem);
  }

  /** Other nodes dial this node at `peerAddress` from now on. Links that are up stay. */
  async movePeerAddress(peerAddress: string): Promise<void> {
    this.#self = { ...this.#self, peerAddress };
    await this.beat();
  }

  /** This node has the role of a gateway from now on, if it is configured to: agents can connect. */
  acceptAgents(): Promise<void> {
    this.#self = { ...this.#self, roles: this.#options.facts.roles };
    return this.setStatus(this.#status);
  }

  /** Sends one heartbeat, and a renewal through peers if the heartbeat fails. Never rejects. */
  beat(): Promise<void> {
    this.#beating ??= this.#beat().finally(() => {
      this.#beating = null;
      if (this.#isOverdue && this.#leaving === null) void this.beat();
      this.#isOverdue = false;
    });
    return this.#beating;
  }

  /** Renews the lease of a peer that cannot reach the database. */
  async renewFor(nodeId: string): Promise<PeerRenewal> {
    const heartbeat = this.#silence.isAway ? null : await this.#renewals.renewFor(nodeId);
    const word = { silentMs: heartbeat === null ? this.#silence.ms : 0, ...this.#peers.linkTo(nodeId) };
    return { heartbeat, word };
  }

  heardFarewell(nodeId: string): void {
    if (this.#known.saidFarewell(nodeId)) this.#changed();
  }

  /** Ends the lease: claims and sessions of this node are free at once. */
  leave(): Promise<void> {
    this.#leaving ??= this.#leave();
    return this.#leaving;
  }

  async #leave(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    await Promise.all([this.#beating, ...this.#asked.pending]);
    await Promise.allSettled([
      this.#peers.sayFarewell(),
      within(this.#options.store.leave(this.self.id), LEAVE_MS, 'leaving the other nodes'),
    ]);
  }

  #tick(): void {
    // The timeout of the heartbeat would come too late: the lease ends soon after it.
    if (this.#silence.isAway) this.#right.failed();
    // The last heartbeat has no answer yet, or the next will likely get none, or only the word of other nodes counts.
    this.#isOverdue = this.#beating !== null;
    if (this.#isOverdue || this.#isFailing || this.#right.isDoubtful) void this.#asked.ask(this.#peers);
    void this.beat();
  }

  /** A busy database may not answer the first heartbeat in time. */
  async #takeLease(): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      const sentAtMs = this.#monotonicMs();
      try {
        this.#renewed(await this.#heartbeat(), sentAtMs, null, true);
        return;
      } catch (error) {
        const isReadOnly = error instanceof PosternError && error.code === 'ERR_POSTERN_STORE_READ_ONLY';
        if (isReadOnly || attempt === JOIN_ATTEMPTS) throw error;
        await sleep(NODE_RENEW_MS);
      }
    }
  }

  async #beat(): Promise<void> {
    const sentAtMs = this.#monotonicMs();
    this.#silence.sent();
    try {
      const heartbeat = await this.#heartbeat();
      this.#silence.answered();
      this.#reportFailure(null);
      this.#asked.preferNone();
      this.#renewed(heartbeat, sentAtMs, null);
    } catch (error) {
      this.#right.failed();
      this.#reportFailure(error);
      await this.#asked.ask(this.#peers);
    }
  }

  #heartbeat(): Promise<Heartbeat> {
    const { store, facts, counts } = this.#options;
    const { id, startedAtMs } = facts;
    const doc = documentOf(this.#self, counts(), this.#problems.shown);
    const beat = store.heartbeat({ id, status: this.#status, startedAtMs, doc }, NODE_LEASE_MS);
    return within(beat, HEARTBEAT_MS, 'the heartbeat of this node');
  }

  /** Whether the peer renewed. */
  #take(nodeId: string, sentAtMs: number, { heartbeat, word }: PeerRenewal): boolean {
    // After the lease expired the peer has the database, and other nodes may have taken over names and sessions of this
    // node.
    if (heartbeat?.hadExpired !== false) this.#right.heard(nodeId, sentAtMs, word);
    if (heartbeat?.hadExpired === true) this.#read(heartbeat, sentAtMs, nodeId);
    if (heartbeat === null || heartbeat.hadExpired) return false;
    this.#renewed(heartbeat, sentAtMs, nodeId);
    return true;
  }

  #renewed(heartbeat: Heartbeat, sentAtMs: number, from: string | null, isFirst = false): void {
    const isKept = this.#right.renewed(sentAtMs, {
      hadExpired: heartbeat.hadExpired,
      hasUnknownNodes: this.#known.hasUnknownNodes(heartbeat, this.#peers.linked()),
    });
    if (!isKept) this.#expiries += 1;
    this.#read(heartbeat, sentAtMs, from);
    if (!isFirst && this.#right.isRecovering && !this.#isComparing) void this.#recover();
  }

  #read(heartbeat: Heartbeat, sentAtMs: number, from: string | null): void {
    const { nowMs, position } = heartbeat;
    this.#time.read(nowMs, sentAtMs, { isFromPeer: from !== null });
    if (this.#known.read(heartbeat)) this.#changed();
    for (const listener of this.#onPosition) listener(position, sentAtMs, from);
  }

  /**
   * After the lease expired: compares everything that this node owned with the store. Then this node may serve again.
   */
  async #recover(): Promise<void> {
    const { log } = this.#options;
    this.#isComparing = true;
    try {
      for (let seen = -1; seen !== this.#expiries; ) {
        seen = this.#expiries;
        log.warn({}, 'the lease of this node had ended: comparing what it owned with the store');
        await this.#agreement.reach();
        const { isDoubtful } = this.#right;
        await Promise.all([...this.#onLeaseExpired].map(async (listener) => listener(isDoubtful)));
      }
      this.setProblem('agreement', null);
      this.#right.recovered();
    } catch (err) {
      // The next heartbeat tries again.
      log.error({ err }, 'failed to compare what this node owned with the store');
      if (err instanceof PosternError && err.code === 'ERR_POSTERN_NODE_DIFFERS')
        this.setProblem('agreement', nodeFindings.found('node_differs', err));
    } finally {
      this.#isComparing = false;
    }
  }

  #ownRow(): NodeRow {
    const known = this.#known.rows.get(this.self.id);
    return {
      ...this.self,
      ...this.#options.counts(),
      status: this.#status,
      lastSeenAtMs: known?.lastSeenAtMs ?? this.nowMs(),
      leaseEndsAtMs: known?.leaseEndsAtMs ?? 0,
      problems: this.#problems.shown,
    };
  }

  /** While this node has no lease, a node counts as lost unless it is linked. */
  #asSeen(row: NodeRow): NodeRow {
    if (row.id === this.self.id || this.#right.hasLease || this.#peers.isLinked(row.id)) return row;
    return { ...row, status: 'lost' };
  }

  #changed(): void {
    for (const listener of this.#onChange) listener();
  }

  #reportFailure(err: unknown): void {
    const { log } = this.#options;
    if (err !== null && !this.#isFailing) log.warn({ err }, 'failed to renew the lease of this node with the database');
    if (err === null && this.#isFailing) log.info({}, 'renewed the lease of this node with the database again');
    this.#isFailing = err !== null;
  }
}
