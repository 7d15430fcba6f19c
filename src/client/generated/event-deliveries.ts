// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer } from '../answer.ts';
import type { PageQuery } from '../page-query.ts';
import type { Ref } from '../ref.ts';
import type { RequestOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface EventDelivery {
  /** Id, starting with "evd_". */
  readonly id: string;
  /** URI of the resource. */
  readonly uri: string;
  /** When the event was queued for the destination. */
  readonly created_at: string;
  /** The subscription that requested the event. */
  readonly subscription: Ref;
  /** The destination of the event. */
  readonly destination: Ref;
  /**
   * The event as delivered. Its object is null if the API key lacks the scope of the event type (see GET
   * /event_types).
   */
  readonly event: Readonly<Record<string, unknown>>;
  /**
   * State of the delivery: "pending" until the destination accepts it ("delivered"), it fails too often or for too
   * long ("dead"), or its subscription is deleted or stops sending to the destination ("cancelled").
   */
  readonly state: 'pending' | 'delivered' | 'dead' | 'cancelled';
  /** The latest attempts, at most 50, oldest first. */
  readonly attempts: readonly {
    /** When the attempt started. */
    readonly at: string;
    /** HTTP status of the response; null if there was none. */
    readonly status: number | null;
    /** Error message; null if the attempt succeeded. */
    readonly error: string | null;
    /** Duration in milliseconds. */
    readonly duration_ms: number;
  }[];
  /** When the next attempt starts; null if there is none. */
  readonly next_attempt_at: string | null;
}

export interface EventDeliveryPage {
  /** The page, newest first. */
  readonly event_deliveries: readonly EventDelivery[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

export interface EventDeliveryQuery extends PageQuery {
  /** Only deliveries of this subscription. An id: "esb_" and 27 letters and digits. */
  readonly subscription_id?: string | undefined;
  /** Only deliveries to this destination. An id: "ed_" and 27 letters and digits. */
  readonly destination_id?: string | undefined;
  /** Only deliveries in this state. */
  readonly state?: 'pending' | 'delivered' | 'dead' | 'cancelled' | undefined;
}

export interface EventDeliveryReplayMatchingAnswer {
  /** Number of deliveries queued again. */
  readonly replayed: number;
}

export interface EventDeliveryReplayMatching {
  /** State of the deliveries to replay. Default: "dead". */
  readonly state?: 'pending' | 'delivered' | 'dead' | 'cancelled' | undefined;
  /** Only deliveries queued at or after this time. Null counts as absent. */
  readonly since?: string | null | undefined;
  /** Only deliveries queued before this time. Null counts as absent. */
  readonly until?: string | null | undefined;
}

/** The delivery of an event to a destination, with its attempts. */
export class EventDeliveriesClient extends ResourceClient {
  /** List event deliveries: every one, page after page. */
  list(query?: EventDeliveryQuery, options?: RequestOptions): AsyncGenerator<EventDelivery, void, undefined> {
    return this.eachItem({ method: 'GET', path: '/event_deliveries', query }, 'event_deliveries', options);
  }

  /** List event deliveries: one page. */
  page(query?: EventDeliveryQuery, options?: RequestOptions): Promise<Answer<EventDeliveryPage>> {
    return this.call({ method: 'GET', path: '/event_deliveries', query }, options);
  }

  /** Get an event delivery. Returns 404 if it has ended or was deleted. */
  get(id: string, options?: RequestOptions): Promise<Answer<EventDelivery>> {
    return this.call({ method: 'GET', path: '/event_deliveries/{id}', params: { id } }, options);
  }

  /**
   * Replay an event delivery. Queues the event again, after the pending deliveries of the same subscription and
   * destination. The event keeps its id. The API key also needs the scope of the event type.
   */
  replay(id: string, options?: RequestOptions): Promise<Answer<EventDelivery>> {
    return this.call({ method: 'POST', path: '/event_deliveries/{id}/replay', params: { id } }, options);
  }

  /**
   * Replay all matching event deliveries. Queues the events again, in their order. Deliveries whose subscription
   * was deleted or no longer sends to the destination are skipped, and so are event types whose scope the API key
   * lacks. If the key lacks the scope for all of them, the response is 403.
   */
  replayMatching(
    body: EventDeliveryReplayMatching = {},
    options?: RequestOptions,
  ): Promise<Answer<EventDeliveryReplayMatchingAnswer>> {
    return this.call({ method: 'POST', path: '/event_deliveries/replay', body }, options);
  }
}
