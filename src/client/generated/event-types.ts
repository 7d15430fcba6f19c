// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer } from '../answer.ts';
import type { RequestOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface EventType {
  /** Name of the event type. */
  readonly type: string;
  /** When the event occurs. */
  readonly description: string;
  /** Scope that an API key needs to subscribe to the type and to read its events. */
  readonly scope: string;
}

export interface EventTypePage {
  /** All event types. */
  readonly event_types: readonly EventType[];
  /** URI of the list. */
  readonly uri: string;
  /** Always null: the list is never paged. */
  readonly next_page_uri: null;
}

export interface EventTypeQuery {
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

/** A type of event that a subscription can include. */
export class EventTypesClient extends ResourceClient {
  /** List all event types: every one. */
  list(query?: EventTypeQuery, options?: RequestOptions): AsyncGenerator<EventType, void, undefined> {
    return this.eachItem({ method: 'GET', path: '/event_types', query }, 'event_types', options);
  }

  /** List all event types: one page. */
  page(query?: EventTypeQuery, options?: RequestOptions): Promise<Answer<EventTypePage>> {
    return this.call({ method: 'GET', path: '/event_types', query }, options);
  }
}
