import { setTimeout as sleep } from 'node:timers/promises';
import { rfc3339 } from '../../../kit/clock.ts';
import type {
  ClaimedLane,
  DeliveryAttempt,
  DeliveryOutcome,
  LaneHealth,
  PendingDelivery,
  Settlement,
} from '../../../store/store.ts';
import type { SendOutcome } from '../destinations/destination-kind.ts';
import { type DeliveryPorts, type LaneTarget, type Ruling, rule } from './retry-rules.ts';

interface LaneRunOptions {
  readonly ports: DeliveryPorts;
  readonly owner: string;
  readonly pace: SendPace;
  readonly leaseMs: number;
  readonly maxDeliveries: number;
}

/** Outcomes are buffered at most this long, so that a batch costs one transaction and a slow one is still visible. */
const SETTLE_AFTER_MS = 200;
/** After this time a busy lane goes to the end of the queue. */
const TURN_MS = 2_000;
const MAX_ATTEMPTS_KEPT = 50;
const BEHIND_MS = 1_000;

/**
 * One holder's turn with a lane. It sends pending deliveries one after the other, until none is left, the lane has to
 * wait, its destination accepts nothing, its turn is over or the claim is lost. If it is killed midway, the next holder
 * continues at the first delivery whose outcome was not written: at least once, and in order.
 */
export class LaneRun {
  readonly lane: ClaimedLane;
  readonly #options: LaneRunOptions;
  readonly #abort = new AbortController();
  #health: LaneHealth;
  #outcomes: DeliveryOutcome[] = [];
  #settledAt = performance.now();
  #isLost = false;
  #isStopping = false;

  constructor(lane: ClaimedLane, options: LaneRunOptions) {
    this.lane = lane;
    this.#options = options;
    this.#health = { failures: lane.failures, failingCount: lane.failingCount, failingSinceMs: lane.failingSinceMs };
  }

  /**
   * The claim has passed to another holder, or may have: the delivery in progress is dropped and nothing more is
   * written.
   */
  lose(): void {
    this.#isLost = true;
    this.#abort.abort();
  }

  /** Starts no further delivery. */
  stop(): void {
    this.#isStopping = true;
  }

  /** Drops the delivery in progress and releases the claim. */
  cut(): void {
    this.#isStopping = true;
    this.#abort.abort();
  }

  async run(): Promise<void> {
    const startedAt = performance.now();
    let batch = await this.#runBatch(this.lane.deliveries, false);
    while (batch.length > 0) batch = await this.#runBatch(batch, performance.now() - startedAt > TURN_MS);
  }

  /** Returns the next batch; empty when the lane was released or lost. */
  async #runBatch(batch: readonly PendingDelivery[], isTurnOver: boolean): Promise<readonly PendingDelivery[]> {
    const { ports } = this.#options;
    for (const delivery of batch) {
      await this.#options.pace.turn(this.#abort.signal);
      if (this.#isLost) return [];
      const target = ports.targetOf(this.lane);
      if (target.state !== 'open') return this.#releaseUnsent(target.state === 'held');
      if (this.#isStopping) return this.#release({});
      const ruling = await this.#try(delivery, target);
      if (ruling === null) return this.#isLost ? [] : this.#release({});
      if (ruling.suspension !== null) return this.#suspend(ruling);
      if (ruling.nextAttemptAtMs > 0) return this.#release({ nextAttemptAtMs: ruling.nextAttemptAtMs });
      if (performance.now() - this.#settledAt > SETTLE_AFTER_MS) break;
    }
    // The delivery's time puts it at the end of the queue.
    if (isTurnOver) return this.#release({ nextAttemptAtMs: ports.clock.nowMs() });
    return this.#settle({ untilMs: ports.clock.nowMs() + this.#options.leaseMs });
  }

  /** Null when it was aborted: then the outcome is unknown. */
  async #try(delivery: PendingDelivery, target: LaneTarget & { readonly state: 'open' }): Promise<Ruling | null> {
    const { ports } = this.#options;
    const startedMs = ports.clock.nowMs();
    const startedAt = performance.now();
    const outcome = await this.#send(delivery, target);
    if (this.#abort.signal.aborted) return null;
    const elapsedMs = performance.now() - startedAt;
    ports.attempted(target.kind, outcome.verdict, elapsedMs / 1000);
    const attempt: DeliveryAttempt = {
      at: rfc3339(startedMs),
      status: outcome.status,
      error: outcome.error,
      duration_ms: Math.round(elapsedMs),
    };
    const attempts = kept([...delivery.attempts, attempt]);
    const nowMs = ports.clock.nowMs();
    const firstTriedMs = Date.parse(attempts[0]?.at ?? attempt.at);
    const { refusals } = delivery;
    const ruling = rule({ outcome, firstTriedMs, refusals, health: this.#health, nowMs }, ports.policy);
    this.#health = ruling.health;
    this.#outcomes.push({ id: delivery.id, state: ruling.state, attempts, refusals: ruling.refusals });
    this.#report(delivery, ruling, outcome);
    return ruling;
  }

  async #send({ event }: PendingDelivery, target: LaneTarget & { readonly state: 'open' }): Promise<SendOutcome> {
    const { senders, log } = this.#options.ports;
    const sender = senders.get(target.kind);
    const message = { id: event.id, type: event.type, body: JSON.stringify(event.payload) };
    try {
      if (sender === undefined) throw new Error(`nothing sends to destinations of the kind ${target.kind}`);
      return await sender.send(target.config, message, this.#abort.signal);
    } catch (err) {
      // A bug of ours. The event waits: a later version may handle it.
      log.error({ err, ...this.#names() }, 'failed to send an event');
      return { verdict: 'wait', status: null, error: 'internal error' };
    }
  }

  async #suspend({ suspension, nextAttemptAtMs }: Ruling): Promise<readonly PendingDelivery[]> {
    const { ports } = this.#options;
    try {
      await ports.suspend(this.lane.destinationId);
      ports.suspended(suspension ?? 'failing');
      ports.log.warn(
        { ...this.#names(), reason: suspension === 'gone' ? 'it returned 410' : 'it has failed for too long' },
        'an event destination is suspended: its deliveries stay pending until it is resumed',
      );
      return await this.#release({ isHeld: true, nextAttemptAtMs });
    } catch (err) {
      ports.log.error({ err, ...this.#names() }, 'failed to suspend an event destination');
      return this.#release({ nextAttemptAtMs });
    }
  }

  /** The store knows whether the lane is held or gone. If neither, this process is briefly behind. */
  #releaseUnsent(isHeld: boolean): Promise<readonly PendingDelivery[]> {
    return this.#release({ isHeld, nextAttemptAtMs: this.#options.ports.clock.nowMs() + BEHIND_MS });
  }

  #release(change: Partial<Settlement>): Promise<readonly PendingDelivery[]> {
    return this.#settle({ ...change, untilMs: null });
  }

  async #settle(change: Partial<Settlement> & Pick<Settlement, 'untilMs'>): Promise<readonly PendingDelivery[]> {
    const { ports, owner, maxDeliveries } = this.#options;
    const { subscriptionId, destinationId, fence, wakes } = this.lane;
    const outcomes = this.#outcomes;
    this.#outcomes = [];
    const next = await ports.store.settle({
      subscriptionId,
      destinationId,
      owner,
      fence,
      wakes,
      nowMs: ports.clock.nowMs(),
      outcomes,
      ...this.#health,
      nextAttemptAtMs: 0,
      isHeld: false,
      maxDeliveries,
      ...change,
    });
    this.#settledAt = performance.now();
    if (next === null) ports.log.warn(this.#names(), 'another process has taken over an event lane');
    return next ?? [];
  }

  #report(delivery: PendingDelivery, ruling: Ruling, outcome: SendOutcome): void {
    const { log } = this.#options.ports;
    if (ruling.state === 'delivered') return;
    const fields = { ...this.#names(), delivery: delivery.id, event: delivery.event.id, error: outcome.error };
    if (ruling.state === 'dead') log.warn(fields, 'an event is dead: its destination did not accept it');
    else log.debug(fields, 'an event was not delivered and will be retried');
  }

  #names(): { readonly subscription: string; readonly destination: string } {
    return { subscription: this.lane.subscriptionId, destination: this.lane.destinationId };
  }
}

/** The first attempt shows since when it is tried; of the rest only the newest are kept. */
function kept(attempts: readonly DeliveryAttempt[]): readonly DeliveryAttempt[] {
  if (attempts.length <= MAX_ATTEMPTS_KEPT) return attempts;
  return [...attempts.slice(0, 1), ...attempts.slice(1 - MAX_ATTEMPTS_KEPT)];
}

/**
 * So many enqueued events within a window are a burst. Traffic events are written in batches, a few per second, and
 * never count as one.
 */
const WINDOW_MS = 100;
const BURST_COUNT = 25;
/** A burst is over after this long without such a window. */
const QUIET_MS = 300;
/** Anything longer is not a burst: deliveries that waited for its end would pile up indefinitely. */
const MAX_YIELD_MS = 30_000;
/** Interval between two sends of this process during a burst. */
const GAP_MS = 10;

/**
 * Sending shares the event loop with the API, and one send costs about as much as one change. So while changes pour in,
 * deliveries, which can wait, continue at a low pace and catch up afterwards.
 *
 * States: *calm* (no delay), *burst* (sends are spaced out), *lasting* (a burst beyond its maximum: no delay).
 */
export class SendPace {
  readonly #nowMs: () => number;
  #windowStartMs = Number.NEGATIVE_INFINITY;
  #windowCount = 0;
  #burstStartMs = Number.NEGATIVE_INFINITY;
  #lastBusyMs = Number.NEGATIVE_INFINITY;
  #nextSlotMs = 0;

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** This process enqueued an event. */
  enqueued(): void {
    const nowMs = this.#nowMs();
    if (nowMs - this.#windowStartMs >= WINDOW_MS) {
      this.#windowStartMs = nowMs;
      this.#windowCount = 0;
    }
    this.#windowCount += 1;
    if (this.#windowCount < BURST_COUNT) return;
    if (nowMs - this.#lastBusyMs >= QUIET_MS) this.#burstStartMs = nowMs;
    this.#lastBusyMs = nowMs;
  }

  get isBurst(): boolean {
    const nowMs = this.#nowMs();
    return nowMs - this.#lastBusyMs < QUIET_MS && nowMs - this.#burstStartMs < MAX_YIELD_MS;
  }

  /** Delay of a send that would start now; reserves its slot. */
  takeSlot(): number {
    if (!this.isBurst) return 0;
    const nowMs = this.#nowMs();
    const slotMs = Math.max(nowMs, this.#nextSlotMs);
    this.#nextSlotMs = slotMs + GAP_MS;
    return slotMs - nowMs;
  }

  /** Called before every send. Resolves immediately when the signal has aborted. */
  async turn(signal: AbortSignal): Promise<void> {
    const waitMs = this.takeSlot();
    if (waitMs > 0) await sleep(waitMs, undefined, { signal }).catch(() => {});
  }
}
