import Type from 'typebox';
import { rfc3339 } from '../../../kit/clock.ts';
import type { JsonObject } from '../../../kit/json.ts';
import { reference, refSchema } from '../../../kit/schema/annotations.ts';
import { parseRfc3339 } from '../../../kit/text/time.ts';
import type { Delivery, DeliveryFilter, DeliveryState, Store } from '../../../store/store.ts';
import { notOnline, refuseWithout, resourceErrors } from '../errors.ts';
import { canReadType, unreadableType } from '../event_types/event-types.ts';
import { liveReads } from '../live-operations.ts';
import type { Principal } from '../operation.ts';
import { idParameter } from '../paging.ts';
import type { SharedPorts } from '../ports.ts';
import { type LiveResource, timestamp } from '../resource.ts';

const deliveryStates = ['pending', 'delivered', 'dead', 'cancelled'] as const satisfies readonly DeliveryState[];

function deliveryFilter(query: Readonly<Record<string, string>>): DeliveryFilter {
  const { subscription_id: subscriptionId, destination_id: destinationId, state } = query;
  return {
    ...(subscriptionId && { subscriptionId }),
    ...(destinationId && { destinationId }),
    ...(state && { state: state as DeliveryState }),
  };
}

/** The body has passed its schema, except for the check of date-times. */
function replayFilter(body: JsonObject): DeliveryFilter {
  const sinceMs = timeIn(body, 'since');
  const untilMs = timeIn(body, 'until');
  return {
    state: (body['state'] ?? 'dead') as DeliveryState,
    ...(sinceMs !== null && { sinceMs }),
    ...(untilMs !== null && { untilMs }),
  };
}

function timeIn(body: JsonObject, name: string): number | null {
  const value = body[name];
  if (typeof value !== 'string') return null;
  const ms = parseRfc3339(value);
  if (ms !== null) return ms;
  throw resourceErrors.create(
    'ERR_POSTERN_INVALID_TIME',
    `${name} must be a time such as "2026-11-01T00:00:00Z" (RFC 3339)`,
    {
      details: { field: `/${name}` },
    },
  );
}

export interface DeliveryPorts extends Pick<SharedPorts, 'clock' | 'eventTypes' | 'newId' | 'ref' | 'uri'> {
  readonly store: Pick<Store, 'deliveries'>;
}

const PATH = '/event_deliveries';

const schema = Type.Object({
  id: Type.String({ description: 'Id, starting with "evd_".' }),
  uri: Type.String({ description: 'URI of the resource.' }),
  created_at: timestamp('When the event was queued for the destination.'),
  subscription: reference(
    { kinds: ['event_subscription'] },
    { ...refSchema, description: 'The subscription that requested the event.' },
  ),
  destination: reference(
    { kinds: ['event_destination'] },
    { ...refSchema, description: 'The destination of the event.' },
  ),
  event: Type.Object(
    {},
    {
      additionalProperties: true,
      description:
        'The event as delivered. Its object is null if the API key lacks the scope of the event type (see GET /event_types).',
      examples: [
        {
          event_id: 'ev_2zXAMPLEeventAAAAAAAAAAAAAA',
          event_type: 'ip_policy_created.v0',
          event_timestamp: '2026-11-01T09:30:00.000Z',
          account_id: 'ac_2zXAMPLEaccountAAAAAAAAAAAA',
          principal: null,
          object: { id: 'ipp_2zXAMPLEipPolicyAAAAAAAAAAA', description: 'offices' },
        },
      ],
    },
  ),
  state: Type.Enum([...deliveryStates], {
    description:
      'State of the delivery: "pending" until the destination accepts it ("delivered"), it fails too often or for too long ("dead"), or its subscription is deleted or stops sending to the destination ("cancelled").',
  }),
  attempts: Type.Array(
    Type.Object({
      at: timestamp('When the attempt started.'),
      status: Type.Union([Type.Integer(), Type.Null()], {
        description: 'HTTP status of the response; null if there was none.',
        examples: [503],
      }),
      error: Type.Union([Type.String(), Type.Null()], {
        description: 'Error message; null if the attempt succeeded.',
        examples: ['the receiver returned 503'],
      }),
      duration_ms: Type.Integer({ description: 'Duration in milliseconds.', examples: [87] }),
    }),
    { description: 'The latest attempts, at most 50, oldest first.' },
  ),
  next_attempt_at: Type.Union([timestamp('When the next attempt starts.'), Type.Null()], {
    description: 'When the next attempt starts; null if there is none.',
    examples: ['2026-11-01T09:31:00.000Z'],
  }),
});

const notFound = (id: string): Error => notOnline('event delivery', PATH, id);

/** The outcome of each event at each destination. */
export const eventDeliveries: LiveResource<DeliveryPorts> = {
  type: 'live',
  name: 'event_deliveries',
  kind: 'event_delivery',
  idPrefix: 'evd',
  path: PATH,
  listKey: 'event_deliveries',
  title: 'an event delivery',
  description: 'The delivery of an event to a destination, with its attempts.',
  operations: [
    ...liveReads<Delivery, DeliveryPorts>({
      resource: 'event_deliveries',
      idPrefix: 'evd',
      path: PATH,
      listKey: 'event_deliveries',
      title: 'an event delivery',
      plural: 'event deliveries',
      schema,
      filters: {
        subscription_id: Type.Optional(idParameter('esb', 'Only deliveries of this subscription.')),
        destination_id: Type.Optional(idParameter('ed', 'Only deliveries to this destination.')),
        state: Type.Optional(Type.Enum([...deliveryStates], { description: 'Only deliveries in this state.' })),
      },
      list: (query, request, { store }) => store.deliveries.list(deliveryFilter(request.query), query),
      get: (id, { store }) => store.deliveries.get(id),
      render: (deliveries, { principal }, ports) => deliveries.map((delivery) => render(delivery, principal, ports)),
      notFound,
    }),
    {
      resource: 'event_deliveries',
      verb: 'replay',
      method: 'POST',
      path: `${PATH}/{id}/replay`,
      summary: 'Replay an event delivery',
      description:
        'Queues the event again, after the pending deliveries of the same subscription and destination. The event keeps its id. The API key also needs the scope of the event type.',
      body: { schema: Type.Object({}), example: {}, parsing: 'ignored' },
      success: { status: 201, schema, description: 'The new delivery.' },
      errors: ['ERR_POSTERN_NOT_FOUND', 'ERR_POSTERN_DELIVERY_CLOSED'],
      run: async (request, ports) => {
        const id = request.params['id'] as string;
        const delivery = await ports.store.deliveries.get(id);
        if (delivery === null) throw notFound(id);
        refuseWithout(unreadableType([delivery.event.type], request.principal, ports.eventTypes));
        const replayed = await ports.store.deliveries.replay(id, ports.newId('evd'), ports.clock.nowMs());
        if (replayed === null) throw notFound(id);
        if (replayed === 'closed') throw closedLane(id);
        return { body: render(replayed, request.principal, ports) };
      },
    },
    {
      resource: 'event_deliveries',
      verb: 'replay_matching',
      method: 'POST',
      path: `${PATH}/replay`,
      summary: 'Replay all matching event deliveries',
      description:
        'Queues the events again, in their order. Deliveries whose subscription was deleted or no longer sends to the destination are skipped, and so are event types whose scope the API key lacks. If the key lacks the scope for all of them, the response is 403.',
      body: {
        schema: Type.Object(
          {
            state: Type.Optional(
              Type.Enum([...deliveryStates], {
                default: 'dead',
                description: 'State of the deliveries to replay. Default: "dead".',
              }),
            ),
            since: Type.Optional(
              Type.Union([timestamp('Only deliveries queued at or after this time.'), Type.Null()], {
                description: 'Only deliveries queued at or after this time. Null counts as absent.',
              }),
            ),
            until: Type.Optional(
              Type.Union([timestamp('Only deliveries queued before this time.'), Type.Null()], {
                description: 'Only deliveries queued before this time. Null counts as absent.',
              }),
            ),
          },
          { additionalProperties: false },
        ),
        example: { state: 'dead', since: '2026-11-01T00:00:00Z' },
      },
      success: {
        status: 202,
        schema: Type.Object({ replayed: Type.Integer({ description: 'Number of deliveries queued again.' }) }),
        description: 'The deliveries are queued.',
      },
      errors: ['ERR_POSTERN_INVALID_TIME'],
      run: async ({ body, principal }, { store, clock, newId, eventTypes }) => {
        const leftOut = new Set<string>();
        const isWanted = (type: string): boolean => {
          const isReadable = canReadType(type, principal, eventTypes);
          if (!isReadable) leftOut.add(type);
          return isReadable;
        };
        const ids = { newId: () => newId('evd'), nowMs: clock.nowMs(), isWanted };
        const replayed = await store.deliveries.replayMatching(replayFilter(body), ids);
        if (replayed === 0) refuseWithout(unreadableType(leftOut, principal, eventTypes));
        return { body: { replayed } };
      },
    },
  ],
};

function closedLane(id: string): Error {
  return resourceErrors.create(
    'ERR_POSTERN_DELIVERY_CLOSED',
    `the subscription of ${id} was deleted or no longer sends to that destination, so it cannot be delivered again`,
  );
}

function render(delivery: Delivery, principal: Principal, ports: DeliveryPorts): JsonObject {
  const { type, payload } = delivery.event;
  return {
    ...ports.ref(delivery.id),
    created_at: rfc3339(delivery.createdAtMs),
    subscription: { ...ports.ref(delivery.subscriptionId) },
    destination: { ...ports.ref(delivery.destinationId) },
    event: canReadType(type, principal, ports.eventTypes) ? payload : { ...payload, object: null },
    state: delivery.state,
    attempts: delivery.attempts.map((attempt) => ({ ...attempt })),
    next_attempt_at: delivery.nextAttemptAtMs === null ? null : rfc3339(delivery.nextAttemptAtMs),
  };
}
