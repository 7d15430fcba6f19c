import Type from 'typebox';
import { rfc3339 } from '../../lib/clock.ts';
import type { JsonObject } from '../../lib/json.ts';
import { reference, refSchema } from '../../lib/schema/annotations.ts';
import type { Delivery } from '../../store/store.ts';
import { notOnline, refuseWithout, resourceErrors } from '../errors.ts';
import { canReadType, unreadableType } from '../event_types/unreadable-type.ts';
import { liveReads } from '../live-operations.ts';
import type { OperationPorts, Principal } from '../operation.ts';
import { idParameter } from '../paging.ts';
import { type LiveResource, timestamp } from '../resource.ts';
import { deliveryFilter, deliveryStates, replayFilter } from './delivery-filter.ts';

const PATH = '/event_deliveries';

const schema = Type.Object({
  id: Type.String({ description: 'Id, starting with "evd_".' }),
  uri: Type.String({ description: 'URI of the resource.' }),
  created_at: timestamp('When the event was queued for the destination.'),
  subscription: reference(
    { kinds: ['event_subscription'] },
    { ...refSchema, description: 'The subscription that triggered.' },
  ),
  destination: reference({ kinds: ['event_destination'] }, { ...refSchema, description: 'Where the event goes.' }),
  event: Type.Object(
    {},
    {
      additionalProperties: true,
      description:
        'The event as it is delivered. Its object is null for a key without the scope of the event type, which GET /event_types names.',
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
      'How far it got: "pending" until the destination took it ("delivered"), refused it too often or could not be reached for too long ("dead"), or its subscription was deleted or stopped sending there ("cancelled").',
  }),
  attempts: Type.Array(
    Type.Object({
      at: timestamp('When it was tried.'),
      status: Type.Union([Type.Integer(), Type.Null()], {
        description: 'Status of the answer; null when none came.',
        examples: [503],
      }),
      error: Type.Union([Type.String(), Type.Null()], {
        description: 'What went wrong; null when nothing did.',
        examples: ['the receiver answered 503'],
      }),
      duration_ms: Type.Integer({ description: 'How long it took, in milliseconds.', examples: [87] }),
    }),
    { description: 'The latest tries, at most 50, oldest first.' },
  ),
  next_attempt_at: Type.Union([timestamp('When it is tried next.'), Type.Null()], {
    description: 'When it is tried next; null when it is not.',
    examples: ['2026-11-01T09:31:00.000Z'],
  }),
});

const notFound = (id: string): Error => notOnline('event delivery', PATH, id);

/** The outcome of each event at each destination. */
export const eventDeliveries: LiveResource = {
  type: 'live',
  name: 'event_deliveries',
  kind: 'event_delivery',
  idPrefix: 'evd',
  path: PATH,
  listKey: 'event_deliveries',
  title: 'an event delivery',
  description: 'An event on its way to a destination, with every attempt.',
  operations: [
    ...liveReads<Delivery>({
      resource: 'event_deliveries',
      idPrefix: 'evd',
      path: PATH,
      listKey: 'event_deliveries',
      title: 'an event delivery',
      plural: 'event deliveries',
      schema,
      filters: {
        subscription_id: Type.Optional(idParameter('esb', 'Only those of this subscription.')),
        destination_id: Type.Optional(idParameter('ed', 'Only those to this destination.')),
        state: Type.Optional(Type.Enum([...deliveryStates], { description: 'Only those in this state.' })),
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
      summary: 'Deliver an event once more',
      description:
        'It is queued at the end of its lane, behind what is already pending there. The event keeps its id. The key needs the scope of the event type as well.',
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
      verb: 'replay-matching',
      method: 'POST',
      path: `${PATH}/replay`,
      summary: 'Deliver all matching events once more',
      description:
        'In their order, at the ends of their lanes. Those whose subscription is gone, or no longer sends there, are left out, and those of event types whose scope the key lacks: 403 when these are all.',
      body: {
        schema: Type.Object(
          {
            state: Type.Optional(
              Type.Enum([...deliveryStates], {
                default: 'dead',
                description: 'State of the deliveries to repeat; "dead" when left out.',
              }),
            ),
            since: Type.Optional(timestamp('Only those queued at or after this time.')),
            until: Type.Optional(timestamp('Only those queued before this time.')),
          },
          { additionalProperties: false },
        ),
        example: { state: 'dead', since: '2026-11-01T00:00:00Z' },
      },
      success: {
        status: 202,
        schema: Type.Object({ replayed: Type.Integer({ description: 'How many were queued anew.' }) }),
        description: 'They are queued.',
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
    `the subscription of ${id} is deleted or no longer sends to that destination, so it cannot be delivered again`,
  );
}

function render(delivery: Delivery, principal: Principal, ports: OperationPorts): JsonObject {
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
