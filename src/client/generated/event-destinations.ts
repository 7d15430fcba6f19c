// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { PageQuery } from '../page-query.ts';
import type { CreateOptions, RequestOptions, WriteOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface EventDestination {
  /** Id, starting with "ed_". */
  readonly id: string;
  /** URI of the resource. */
  readonly uri: string;
  /** When it was created. */
  readonly created_at: string;
  /** Free text for your own use; at most 255 characters. */
  readonly description: string;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata: string;
  /**
   * Format of the events: "json" for the event itself; for a webhook also "cloudevents" for the event as the data
   * of a CloudEvent (version 1.0, structured mode), or a message for people: "slack" for an incoming webhook of
   * Slack, "discord" for a webhook of Discord, "teams" for a workflow of Microsoft Teams.
   */
  readonly format: 'json' | 'cloudevents' | 'slack' | 'discord' | 'teams';
  /** Target of the destination: exactly one of "webhook", "file". The others read back as null. */
  readonly target: {
    /** Sends each event as a signed HTTP request (Standard Webhooks). */
    readonly webhook: {
      /** URL to which events are sent: an absolute https or http URL without user name, password or fragment. */
      readonly url: string;
      /**
       * Secret that signs deliveries (Standard Webhooks): "whsec_" and 24 to 64 bytes in base64. Generated if omitted.
       * Only the response to the create shows it.
       */
      readonly secret: string;
      /** Previous secret, for rotation: deliveries are signed with both secrets. "" in a PATCH removes it. */
      readonly previous_secret: string;
      /**
       * Headers to add, such as {"x-api-key": "…"}. Their values are secret. Host, Content-* and webhook-* are not
       * allowed.
       */
      readonly headers: Readonly<Record<string, string>>;
    } | null;
    /** Appends each event as one line of JSON to a file in the data directory. */
    readonly file: {
      /** Name of the file, without directories: letters, digits, "-", "_" and single dots, such as "audit.ndjson". */
      readonly name: string;
    } | null;
  };
  /** Whether events are delivered: "active", "paused" by a request, or "suspended" after failing for too long. */
  readonly status: 'active' | 'paused' | 'suspended';
}

export interface EventDestinationCreate {
  /** Free text for your own use; at most 255 characters. */
  readonly description?: string | undefined;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata?: string | undefined;
  /**
   * Format of the events: "json" for the event itself; for a webhook also "cloudevents" for the event as the data
   * of a CloudEvent (version 1.0, structured mode), or a message for people: "slack" for an incoming webhook of
   * Slack, "discord" for a webhook of Discord, "teams" for a workflow of Microsoft Teams.
   */
  readonly format?: 'json' | 'cloudevents' | 'slack' | 'discord' | 'teams' | undefined;
  /** Target of the destination: exactly one of "webhook", "file". The others read back as null. */
  readonly target: {
    /** Sends each event as a signed HTTP request (Standard Webhooks). */
    readonly webhook?:
      | {
          /** URL to which events are sent: an absolute https or http URL without user name, password or fragment. */
          readonly url: string;
          /**
           * Secret that signs deliveries (Standard Webhooks): "whsec_" and 24 to 64 bytes in base64. Generated if omitted.
           * Only the response to the create shows it.
           */
          readonly secret?: string | undefined;
          /** Previous secret, for rotation: deliveries are signed with both secrets. "" in a PATCH removes it. */
          readonly previous_secret?: string | undefined;
          /**
           * Headers to add, such as {"x-api-key": "…"}. Their values are secret. Host, Content-* and webhook-* are not
           * allowed.
           */
          readonly headers?: Readonly<Record<string, string>> | undefined;
        }
      | undefined;
    /** Appends each event as one line of JSON to a file in the data directory. */
    readonly file?:
      | {
          /** Name of the file, without directories: letters, digits, "-", "_" and single dots, such as "audit.ndjson". */
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
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

export interface EventDestinationUpdate {
  /** Free text for your own use; at most 255 characters. */
  readonly description?: string | undefined;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata?: string | undefined;
  /**
   * Format of the events: "json" for the event itself; for a webhook also "cloudevents" for the event as the data
   * of a CloudEvent (version 1.0, structured mode), or a message for people: "slack" for an incoming webhook of
   * Slack, "discord" for a webhook of Discord, "teams" for a workflow of Microsoft Teams.
   */
  readonly format?: 'json' | 'cloudevents' | 'slack' | 'discord' | 'teams' | undefined;
  /** Target of the destination: exactly one of "webhook", "file". The others read back as null. */
  readonly target?:
    | {
        /** Sends each event as a signed HTTP request (Standard Webhooks). */
        readonly webhook?:
          | {
              /** URL to which events are sent: an absolute https or http URL without user name, password or fragment. */
              readonly url: string;
              /**
               * Secret that signs deliveries (Standard Webhooks): "whsec_" and 24 to 64 bytes in base64. Generated if omitted.
               * Only the response to the create shows it.
               */
              readonly secret?: string | undefined;
              /** Previous secret, for rotation: deliveries are signed with both secrets. "" in a PATCH removes it. */
              readonly previous_secret?: string | undefined;
              /**
               * Headers to add, such as {"x-api-key": "…"}. Their values are secret. Host, Content-* and webhook-* are not
               * allowed.
               */
              readonly headers?: Readonly<Record<string, string>> | undefined;
            }
          | undefined;
        /** Appends each event as one line of JSON to a file in the data directory. */
        readonly file?:
          | {
              /** Name of the file, without directories: letters, digits, "-", "_" and single dots, such as "audit.ndjson". */
              readonly name: string;
            }
          | undefined;
      }
    | undefined;
}

export interface EventDestinationTestAnswer {
  /** Whether the destination accepted the event. */
  readonly is_delivered: boolean;
  /** HTTP status of the response; null if there was none or the destination does not use HTTP. */
  readonly status: number | null;
  /** Error message; null if the attempt succeeded. */
  readonly error: string | null;
  /** Duration in milliseconds. */
  readonly duration_ms: number;
  /** The event that was sent. */
  readonly event: Readonly<Record<string, unknown>>;
}

/** A receiver for the events of subscriptions. */
export class EventDestinationsClient extends ResourceClient {
  /** Create an event destination. A receiver for the events of subscriptions. */
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

  /** Get an event destination. A receiver for the events of subscriptions. */
  get(id: string, options?: RequestOptions): Promise<Answer<EventDestination>> {
    return this.call({ method: 'GET', path: '/event_destinations/{id}', params: { id } }, options);
  }

  /**
   * Update an event destination. Changes only the fields in the request; null counts as absent. A module in the
   * request is replaced as a whole. DELETE of the module removes it.
   */
  update(id: string, body: EventDestinationUpdate, options?: WriteOptions): Promise<Answer<EventDestination>> {
    return this.call({ method: 'PATCH', path: '/event_destinations/{id}', params: { id }, body }, options);
  }

  /** Delete an event destination. Returns 409 if other resources refer to it; details.referred_by names them. */
  delete(id: string, options?: WriteOptions): Promise<ResponseInfo> {
    return this.callForNothing({ method: 'DELETE', path: '/event_destinations/{id}', params: { id } }, options);
  }

  /**
   * Pause an event destination; its deliveries stay pending. Repeating the request has no further effect. The
   * request body is ignored.
   */
  pause(id: string, options?: RequestOptions): Promise<ResponseInfo> {
    return this.callForNothing({ method: 'POST', path: '/event_destinations/{id}/pause', params: { id } }, options);
  }

  /**
   * Resume an event destination and deliver pending events immediately. Repeating the request has no further
   * effect. The request body is ignored.
   */
  resume(id: string, options?: RequestOptions): Promise<ResponseInfo> {
    return this.callForNothing({ method: 'POST', path: '/event_destinations/{id}/resume', params: { id } }, options);
  }

  /**
   * Send a sample event to an event destination. The event is signed like any other and sent immediately, ahead of
   * pending deliveries and regardless of the status of the destination. The response body is not shown.
   */
  test(id: string, options?: RequestOptions): Promise<Answer<EventDestinationTestAnswer>> {
    return this.call({ method: 'POST', path: '/event_destinations/{id}/test', params: { id } }, options);
  }
}
