// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { CreateOptions, RequestOptions, WriteOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface EventSource {
  /** Event type that the subscription includes. */
  readonly type: string;
  /** URI of the event source. */
  readonly uri: string;
}

export interface EventSourceCreate {
  /** An event type, such as "ip_policy_created.v0". GET /event_types lists them. */
  readonly type: string;
}

export interface EventSourcePage {
  /** All event sources of the subscription; never paged. */
  readonly sources: readonly EventSource[];
  /** URI of this list. */
  readonly uri: string;
}

export interface EventSourceQuery {
  /**
   * Only results for which this CEL expression over `obj` is true, such as `obj.metadata == "prod" &&
   * obj.created_at > timestamp("2026-11-01T00:00:00Z")`. A page can have fewer results than `limit`, or none, and
   * still a next page.
   */
  readonly filter?: string | undefined;
  /**
   * Orders the results by this field, with "-" in front in descending order; equal ones newest first. A list with
   * more than 10,000 results cannot be ordered: use `q` or `filter` too. The header Postern-Count has the number
   * of results.
   */
  readonly order_by?: string | undefined;
  /**
   * Only results in which every word of this text occurs, in any case: in names, hosts, addresses, email addresses
   * and ids of the result, or of what it refers to. The header Postern-Count has the number of results.
   */
  readonly q?: string | undefined;
}

/** An event type that a subscription includes. */
export class EventSourcesClient extends ResourceClient {
  /**
   * Add an event type to a subscription. Takes effect from the next event. The API key also needs the scope of the
   * event type (see GET /event_types).
   */
  create(subscriptionId: string, body: EventSourceCreate, options?: CreateOptions): Promise<Answer<EventSource>> {
    return this.call(
      {
        method: 'POST',
        path: '/event_subscriptions/{subscription_id}/sources',
        params: { subscription_id: subscriptionId },
        body,
      },
      options,
    );
  }

  /** List the event types of a subscription: every one. */
  list(
    subscriptionId: string,
    query?: EventSourceQuery,
    options?: RequestOptions,
  ): AsyncGenerator<EventSource, void, undefined> {
    return this.eachItem(
      {
        method: 'GET',
        path: '/event_subscriptions/{subscription_id}/sources',
        params: { subscription_id: subscriptionId },
        query,
      },
      'sources',
      options,
    );
  }

  /** List the event types of a subscription: one page. */
  page(subscriptionId: string, query?: EventSourceQuery, options?: RequestOptions): Promise<Answer<EventSourcePage>> {
    return this.call(
      {
        method: 'GET',
        path: '/event_subscriptions/{subscription_id}/sources',
        params: { subscription_id: subscriptionId },
        query,
      },
      options,
    );
  }

  /** Get an event source. Returns 404 if the subscription does not include the type. */
  get(
    params: { readonly subscription_id: string; readonly type: string },
    options?: RequestOptions,
  ): Promise<Answer<EventSource>> {
    return this.call({ method: 'GET', path: '/event_subscriptions/{subscription_id}/sources/{type}', params }, options);
  }

  /** Update an event source. An event source has no fields to change: send an empty object. */
  update(
    params: { readonly subscription_id: string; readonly type: string },
    options?: WriteOptions,
  ): Promise<Answer<EventSource>> {
    return this.call(
      { method: 'PATCH', path: '/event_subscriptions/{subscription_id}/sources/{type}', params, body: {} },
      options,
    );
  }

  /** Remove an event type from a subscription. Takes effect from the next event. The last type can be removed too. */
  delete(
    params: { readonly subscription_id: string; readonly type: string },
    options?: WriteOptions,
  ): Promise<ResponseInfo> {
    return this.callForNothing(
      { method: 'DELETE', path: '/event_subscriptions/{subscription_id}/sources/{type}', params },
      options,
    );
  }
}
