// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { PageQuery } from '../page-query.ts';
import type { Ref } from '../ref.ts';
import type { CreateOptions, RequestOptions, WriteOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';
import type { EventSource } from './event-sources.ts';

export interface EventSubscription {
  /** Id, starting with "esb_". */
  readonly id: string;
  /** URI of the resource. */
  readonly uri: string;
  /** When it was created. */
  readonly created_at: string;
  /** Free text for your own use; at most 255 characters. */
  readonly description: string;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata: string;
  /** The event types of the subscription. */
  readonly sources: readonly EventSource[];
  /** Ids of the event destinations, without duplicates. */
  readonly destinations: readonly Ref[];
}

export interface EventSubscriptionCreate {
  /** Free text for your own use; at most 255 characters. */
  readonly description?: string | undefined;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata?: string | undefined;
  /** The distinct event types of the subscription, each as {"type": "ip_policy_created.v0"}. */
  readonly sources?:
    | readonly {
        /** An event type, such as "ip_policy_created.v0". */
        readonly type: string;
        /** URI of the source; ignored in requests. */
        readonly uri?: string | undefined;
      }[]
    | undefined;
  /** Ids of the event destinations, without duplicates. */
  readonly destination_ids?: readonly string[] | undefined;
}

export interface EventSubscriptionPage {
  /** The page, newest first. */
  readonly event_subscriptions: readonly EventSubscription[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

export interface EventSubscriptionUpdate {
  /** Free text for your own use; at most 255 characters. */
  readonly description?: string | undefined;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata?: string | undefined;
  /** The distinct event types of the subscription, each as {"type": "ip_policy_created.v0"}. */
  readonly sources?:
    | readonly {
        /** An event type, such as "ip_policy_created.v0". */
        readonly type: string;
        /** URI of the source; ignored in requests. */
        readonly uri?: string | undefined;
      }[]
    | undefined;
  /** Ids of the event destinations, without duplicates. */
  readonly destination_ids?: readonly string[] | undefined;
}

/** A set of event types and the destinations that receive them. */
export class EventSubscriptionsClient extends ResourceClient {
  /** Create an event subscription. A set of event types and the destinations that receive them. */
  create(body: EventSubscriptionCreate = {}, options?: CreateOptions): Promise<Answer<EventSubscription>> {
    return this.call({ method: 'POST', path: '/event_subscriptions', body }, options);
  }

  /** List event subscriptions: every one, page after page. */
  list(query?: PageQuery, options?: RequestOptions): AsyncGenerator<EventSubscription, void, undefined> {
    return this.eachItem({ method: 'GET', path: '/event_subscriptions', query }, 'event_subscriptions', options);
  }

  /** List event subscriptions: one page. */
  page(query?: PageQuery, options?: RequestOptions): Promise<Answer<EventSubscriptionPage>> {
    return this.call({ method: 'GET', path: '/event_subscriptions', query }, options);
  }

  /** Get an event subscription. A set of event types and the destinations that receive them. */
  get(id: string, options?: RequestOptions): Promise<Answer<EventSubscription>> {
    return this.call({ method: 'GET', path: '/event_subscriptions/{id}', params: { id } }, options);
  }

  /**
   * Update an event subscription. Changes only the fields in the request; null counts as absent. A module in the
   * request is replaced as a whole. DELETE of the module removes it.
   */
  update(id: string, body: EventSubscriptionUpdate, options?: WriteOptions): Promise<Answer<EventSubscription>> {
    return this.call({ method: 'PATCH', path: '/event_subscriptions/{id}', params: { id }, body }, options);
  }

  /** Delete an event subscription. Returns 409 if other resources refer to it; details.referred_by names them. */
  delete(id: string, options?: WriteOptions): Promise<ResponseInfo> {
    return this.callForNothing({ method: 'DELETE', path: '/event_subscriptions/{id}', params: { id } }, options);
  }
}
