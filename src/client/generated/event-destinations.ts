// Made from the schemas of src/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { PageQuery } from '../page-query.ts';
import type { ConditionalOptions, CreateOptions, RequestOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface EventDestination {
  /** Id, starting with "ed_". */
  readonly id: string;
  /** URI of the resource. */
  readonly uri: string;
  /** When it was created. RFC 3339, UTC. */
  readonly created_at: string;
  /** What this is for, in your own words; at most 255 characters. */
  readonly description: string;
  /** Anything of yours, such as JSON; at most 4096 bytes. Postern does not read it. */
  readonly metadata: string;
  /** Format of the events: "json". */
  readonly format: 'json';
  /** Where to: exactly one of "webhook", "file". The others read back as null. */
  readonly target: {
    /** Sends each event as a signed HTTP request (Standard Webhooks). */
    readonly webhook: {
      /** Where events are sent: an absolute https or http URL without user name, password or fragment. */
      readonly url: string;
      /**
       * Signs deliveries (Standard Webhooks): "whsec_" and 24 to 64 bytes in base64. Made when left out. Shown only by
       * the create.
       */
      readonly secret: string;
      /**
       * A second valid secret while receivers change over: deliveries are signed with both. "" in a PATCH takes it
       * away.
       */
      readonly previous_secret: string;
      /** Headers to add, such as {"x-api-key": "…"}. Their values are secret. Not Host, Content-* or webhook-*. */
      readonly headers: Readonly<Record<string, string>>;
    } | null;
    /** Appends each event as a line of JSON to a file in the data directory. */
    readonly file: {
      /** Name of the file, without folders: letters, digits, "-", "_" and single dots, such as "audit.ndjson". */
      readonly name: string;
    } | null;
  };
  /** Whether events are being delivered: "paused" by you, "suspended" after failing for too long. */
  readonly status: 'active' | 'paused' | 'suspended';
}

export interface EventDestinationCreate {
  /** What this is for, in your own words; at most 255 characters. */
  readonly description?: string | undefined;
  /** Anything of yours, such as JSON; at most 4096 bytes. Postern does not read it. */
  readonly metadata?: string | undefined;
  /** Format of the events: "json". */
  readonly format?: 'json' | undefined;
  /** Where to: exactly one of "webhook", "file". The others read back as null. */
  readonly target: {
    /** Sends each event as a signed HTTP request (Standard Webhooks). */
    readonly webhook?:
      | {
          /** Where events are sent: an absolute https or http URL without user name, password or fragment. */
          readonly url: string;
          /**
           * Signs deliveries (Standard Webhooks): "whsec_" and 24 to 64 bytes in base64. Made when left out. Shown only by
           * the create.
           */
          readonly secret?: string | undefined;
          /**
           * A second valid secret while receivers change over: deliveries are signed with both. "" in a PATCH takes it
           * away.
           */
          readonly previous_secret?: string | undefined;
          /** Headers to add, such as {"x-api-key": "…"}. Their values are secret. Not Host, Content-* or webhook-*. */
          readonly headers?: Readonly<Record<string, string>> | undefined;
        }
      | undefined;
    /** Appends each event as a line of JSON to a file in the data directory. */
    readonly file?:
      | {
          /** Name of the file, without folders: letters, digits, "-", "_" and single dots, such as "audit.ndjson". */
          readonly name: string;
        }
      | undefined;
  };
}

export interface EventDestinationPage {
  /** The page, newest first. */
  readonly event_destinations: readonly EventDestination[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page, or null when there is none. */
  readonly next_page_uri: string | null;
}

export interface EventDestinationUpdate {
  /** What this is for, in your own words; at most 255 characters. */
  readonly description?: string | undefined;
  /** Anything of yours, such as JSON; at most 4096 bytes. Postern does not read it. */
  readonly metadata?: string | undefined;
  /** Format of the events: "json". */
  readonly format?: 'json' | undefined;
  /** Where to: exactly one of "webhook", "file". The others read back as null. */
  readonly target?:
    | {
        /** Sends each event as a signed HTTP request (Standard Webhooks). */
        readonly webhook?:
          | {
              /** Where events are sent: an absolute https or http URL without user name, password or fragment. */
              readonly url: string;
              /**
               * Signs deliveries (Standard Webhooks): "whsec_" and 24 to 64 bytes in base64. Made when left out. Shown only by
               * the create.
               */
              readonly secret?: string | undefined;
              /**
               * A second valid secret while receivers change over: deliveries are signed with both. "" in a PATCH takes it
               * away.
               */
              readonly previous_secret?: string | undefined;
              /** Headers to add, such as {"x-api-key": "…"}. Their values are secret. Not Host, Content-* or webhook-*. */
              readonly headers?: Readonly<Record<string, string>> | undefined;
            }
          | undefined;
        /** Appends each event as a line of JSON to a file in the data directory. */
        readonly file?:
          | {
              /** Name of the file, without folders: letters, digits, "-", "_" and single dots, such as "audit.ndjson". */
              readonly name: string;
            }
          | undefined;
      }
    | undefined;
}

export interface EventDestinationTestAnswer {
  /** Whether the destination took the event. */
  readonly is_delivered: boolean;
  /** Status of the answer; null when none came, or where there is no such thing. */
  readonly status: number | null;
  /** What went wrong; null when nothing did. */
  readonly error: string | null;
  /** How long it took, in milliseconds. */
  readonly duration_ms: number;
  /** The event that was sent. */
  readonly event: Readonly<Record<string, unknown>>;
}

/** Where the events of subscriptions are delivered. */
export class EventDestinationsClient extends ResourceClient {
  /** Create an event destination. Where the events of subscriptions are delivered. */
  create(body: EventDestinationCreate, options?: CreateOptions): Promise<Answer<EventDestination>> {
    return this.call({ method: 'POST', path: '/event_destinations', body }, options);
  }

  /** List event destinations: every one, page after page. */
  list(query?: PageQuery, options?: RequestOptions): AsyncGenerator<EventDestination, void, undefined> {
    return this.eachItem({ method: 'GET', path: '/event_destinations', query }, 'event_destinations', options);
  }

  /** List event destinations: one page. */
  page(query?: PageQuery, options?: RequestOptions): Promise<Answer<EventDestinationPage>> {
    return this.call({ method: 'GET', path: '/event_destinations', query }, options);
  }

  /** Get an event destination. Where the events of subscriptions are delivered. */
  get(id: string, options?: RequestOptions): Promise<Answer<EventDestination>> {
    return this.call({ method: 'GET', path: '/event_destinations/{id}', params: { id } }, options);
  }

  /**
   * Change fields of an event destination. Only the fields that are named change. A module that is named is
   * replaced whole.
   */
  update(id: string, body: EventDestinationUpdate, options?: ConditionalOptions): Promise<Answer<EventDestination>> {
    return this.call({ method: 'PATCH', path: '/event_destinations/{id}', params: { id }, body }, options);
  }

  /**
   * Delete an event destination. A resource that others refer to is not deleted: 409, and details.referred_by
   * names them.
   */
  delete(id: string, options?: ConditionalOptions): Promise<ResponseInfo> {
    return this.callForNothing({ method: 'DELETE', path: '/event_destinations/{id}', params: { id } }, options);
  }

  /**
   * Stop delivering to an event destination; its events wait. Repeating it changes nothing and is no error. The
   * body is ignored.
   */
  pause(id: string, options?: RequestOptions): Promise<ResponseInfo> {
    return this.callForNothing({ method: 'POST', path: '/event_destinations/{id}/pause', params: { id } }, options);
  }

  /**
   * Go on delivering to an event destination, with what waits first, at once. Repeating it changes nothing and is
   * no error. The body is ignored.
   */
  resume(id: string, options?: RequestOptions): Promise<ResponseInfo> {
    return this.callForNothing({ method: 'POST', path: '/event_destinations/{id}/resume', params: { id } }, options);
  }

  /**
   * Send a sample event to an event destination. It is signed like any other, goes past the lanes, and is sent
   * whatever the status of the destination is. The body of the answer is not shown.
   */
  test(id: string, options?: RequestOptions): Promise<Answer<EventDestinationTestAnswer>> {
    return this.call({ method: 'POST', path: '/event_destinations/{id}/test', params: { id } }, options);
  }
}
