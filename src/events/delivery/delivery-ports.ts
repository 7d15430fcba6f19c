import type { Clock } from '../../lib/clock.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { DeliveryStore, LaneKey } from '../../store/store.ts';
import type { DestinationSender, SendVerdict } from '../destinations/destination-kind.ts';
import type { RetryPolicy } from './retry-rules.ts';

export interface DeliveryLog {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** The current target of a lane. */
export type LaneTarget =
  | { readonly state: 'open'; readonly kind: string; readonly config: JsonObject }
  /** Paused or suspended. */
  | { readonly state: 'held' }
  /** The subscription or the destination is gone, or they are no longer linked. */
  | { readonly state: 'closed' };

export interface DeliveryPorts {
  readonly store: DeliveryStore;
  readonly clock: Clock;
  readonly log: DeliveryLog;
  readonly policy: RetryPolicy;
  readonly senders: ReadonlyMap<string, DestinationSender>;
  targetOf(lane: LaneKey): LaneTarget;
  /** Sets the destination's status; deliveries wait from then on. */
  suspend(destinationId: string): Promise<void>;
  attempted(kind: string, verdict: SendVerdict, seconds: number): void;
  suspended(reason: 'gone' | 'failing'): void;
}
