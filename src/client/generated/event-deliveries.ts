// Made from the schemas of src/resources and src/modules by "npm run generate". Do not edit.
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
  /** When the event was queued for the destination. RFC 3339, UTC. */
  readonly created_at: string;
  /** The subscription that triggered. */
  readonly subscription: Ref;
  /** Where the event goes. */
  readonly destination: Ref;
  /**
   * The event as it is delivered. Its object is null for a key without the scope of the event type, which GET
   * /event_types names.
   */
  readonly event: Readonly<Record<string, unknown>>;
  /**
   * How far it got: "pending" until the destination took it ("delivered"), refused it too often or could not be
   * reached for too long ("dead"), or its subscription was deleted or stopped sending there ("cancelled").
   */
  readonly state: 'pending' | 'delivered' | 'dead' | 'cancelled';
  /** The latest tries, at most 50, oldest first. */
  readonly attempts: readonly {
    /** When it was tried. RFC 3339, UTC. */
    readonly at: string;
    /** Status of the answer; null when none came. */
    readonly status: number | null;
    /** What went wrong; null when nothing did. */
    readonly error: string | null;
    /** How long it took, in milliseconds. */
    readonly duration_ms: number;
  }[];
  /** When it is tried next; null when it is not. */
  readonly next_attempt_at: string | null;
}

export interface EventDeliveryPage {
  /** The page, newest first. */
  readonly event_deliveries: readonly EventDelivery[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page, or null when there is none. */
  readonly next_page_uri: string | null;
}

export interface EventDeliveryQuery extends PageQuery {
  /** Only those of this subscription. An id: "esb_" and 27 letters and digits. */
  readonly subscription_id?: string | undefined;
  /** Only those to this destination. An id: "ed_" and 27 letters and digits. */
  readonly destination_id?: string | undefined;
  /** Only those in this state. */
  readonly state?: 'pending' | 'delivered' | 'dead' | 'cancelled' | undefined;
}

export interface EventDeliveryReplayMatchingAnswer {
  /** How many were queued anew. */
  readonly replayed: number;
}

export interface EventDeliveryReplayMatching {
  /** State of the deliveries to repeat; "dead" when left out. */
  readonly state?: 'pending' | 'delivered' | 'dead' | 'cancelled' | undefined;
  /** Only those queued at or after this time. RFC 3339, UTC. */
  readonly since?: string | undefined;
  /** Only those queued before this time. RFC 3339, UTC. */
  readonly until?: string | undefined;
}

/** An event on its way to a destination, with every attempt. */
export class EventDeliveriesClient extends ResourceClient {
  /** List event deliveries: every one, page after page. */
  list(query?: EventDeliveryQuery, options?: RequestOptions): AsyncGenerator<EventDelivery, void, undefined> {
    return this.eachItem({ method: 'GET', path: '/event_deliveries', query }, 'event_deliveries', options);
  }

  /** List event deliveries: one page. */
  page(query?: EventDeliveryQuery, options?: RequestOptions): Promise<Answer<EventDeliveryPage>> {
    return this.call({ method: 'GET', path: '/event_deliveries', query }, options);
  }

  /** Get an event delivery. One that has ended or was removed is 404. */
  get(id: string, options?: RequestOptions): Promise<Answer<EventDelivery>> {
    return this.call({ method: 'GET', path: '/event_deliveries/{id}', params: { id } }, options);
  }

  /**
   * Deliver an event once more. It is queued at the end of its lane, behind what is already pending there. The
   * event keeps its id. The key needs the scope of the event type as well.
   */
  replay(id: string, options?: RequestOptions): Promise<Answer<EventDelivery>> {
    return this.call({ method: 'POST', path: '/event_deliveries/{id}/replay', params: { id } }, options);
  }

  /**
   * Deliver all matching events once more. In their order, at the ends of their lanes. Those whose subscription is
   * gone, or no longer sends there, are left out, and those of event types whose scope the key lacks: 403 when
   * these are all.
   */
  replayMatching(
    body: EventDeliveryReplayMatching = {},
    options?: RequestOptions,
  ): Promise<Answer<EventDeliveryReplayMatchingAnswer>> {
    return this.call({ method: 'POST', path: '/event_deliveries/replay', body }, options);
  }
}
