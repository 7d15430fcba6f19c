import assert from 'node:assert/strict';
import type { LaneLedger } from '../../../src/store/store.ts';
import type { Cleanup } from '../../support/cleanup.ts';
import { TestWorld, type WorldOptions } from '../../support/test-world.ts';
import { Receiver } from './receiver.ts';

export interface Lane {
  readonly subscriptionId: string;
  readonly destinationId: string;
  readonly secret: string;
  readonly path: string;
}

let laneCount = 0;

/** A server with the delivering role, and a receiver that it may reach. */
export class EventWorld {
  readonly world: TestWorld;
  readonly receiver: Receiver;

  private constructor(world: TestWorld, receiver: Receiver) {
    this.world = world;
    this.receiver = receiver;
  }

  static async open(
    test: Cleanup,
    env: Readonly<Record<string, string>> = {},
    options: Omit<WorldOptions, 'env'> = {},
  ): Promise<EventWorld> {
    const receiver = await Receiver.open(test);
    const world = await TestWorld.open(test, {
      ...options,
      env: {
        POSTERN_ROLES: 'api,events',
        POSTERN_EVENTS_ALLOW_CIDRS: '127.0.0.0/8',
        POSTERN_SHUTDOWN_TIMEOUT: '1',
        ...env,
      },
    });
    return new EventWorld(world, receiver);
  }

  /** Calls the API, and fails unless it succeeds. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers field by field
  async api(method: string, path: string, body?: unknown): Promise<any> {
    const answer = await this.world.api(method, path, body);
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.body;
  }

  /** A subscription with its own webhook. */
  async lane(types: readonly string[], webhook: Readonly<Record<string, unknown>> = {}): Promise<Lane> {
    laneCount += 1;
    const path = `/lane${laneCount}`;
    const destination = await this.api('POST', '/event_destinations', {
      target: { webhook: { url: this.receiver.url(path), ...webhook } },
    });
    const subscription = await this.api('POST', '/event_subscriptions', {
      sources: types.map((type) => ({ type })),
      destination_ids: [destination.id],
    });
    return {
      subscriptionId: subscription.id,
      destinationId: destination.id,
      secret: destination.target.webhook.secret,
      path,
    };
  }

  /** Causes `count` events of the type ip_policy_created.v0, one after the other. */
  async policies(count: number): Promise<string[]> {
    const ids: string[] = [];
    for (let at = 0; at < count; at += 1) ids.push((await this.api('POST', '/ip_policies', {})).id);
    return ids;
  }

  async ledgerOf({ subscriptionId, destinationId }: Lane): Promise<LaneLedger> {
    const lanes = await this.world.store.deliveries.ledger();
    const found = lanes.find((each) => each.subscriptionId === subscriptionId && each.destinationId === destinationId);
    assert.ok(found, 'the lane is in the ledger');
    const { enqueued, pending, delivered, dead, cancelled, pruned } = found;
    assert.equal(enqueued, pending + delivered + dead + cancelled + pruned, 'the ledger balances');
    return found;
  }

  /** Waits until the ledger matches. The store does not announce outcomes, so it is polled. */
  async settled(lane: Lane, expected: Partial<LaneLedger>, patienceMs = 20_000): Promise<LaneLedger> {
    const deadline = Date.now() + patienceMs;
    for (;;) {
      const found = await this.ledgerOf(lane);
      if (Object.entries(expected).every(([name, value]) => found[name as keyof LaneLedger] === value)) return found;
      if (Date.now() > deadline) assert.fail(`the lane stands at ${JSON.stringify(found)}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  /** Waits until the lane's deliveries show this many attempts in total. */
  async attempted(lane: Lane, count: number, patienceMs = 20_000): Promise<void> {
    const deadline = Date.now() + patienceMs;
    for (;;) {
      const attempts = (await this.deliveries(lane)).flatMap((delivery) => delivery.attempts);
      if (attempts.length >= count) return;
      if (Date.now() > deadline) assert.fail(`there were ${attempts.length} attempts`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers field by field
  async deliveries({ subscriptionId }: Lane, query = ''): Promise<any[]> {
    const list = await this.api('GET', `/event_deliveries?subscription_id=${subscriptionId}${query}`);
    return list.event_deliveries;
  }
}
