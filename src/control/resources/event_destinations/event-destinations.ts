import { randomBytes } from 'node:crypto';
import type { TProperties } from 'typebox';
import Type from 'typebox';
import type { JsonObject } from '../../../kit/json.ts';
import type { FieldProblem } from '../../../kit/schema/field-problem.ts';
import type { RecordReader } from '../../../store/replica/record-table.ts';
import type { Store, StoredRecord } from '../../../store/store.ts';
import { destinationKinds } from '../../events/destinations/registry.ts';
import { resourceErrors } from '../errors.ts';
import { unreadableType } from '../event_types/event-types.ts';
import type { Operation } from '../operation.ts';
import type { DocumentsPort, SharedPorts } from '../ports.ts';
import { defineResource, describedFields } from '../resource.ts';

const PATH = '/event_destinations/{id}';
const KIND = 'event_destination';

const testResult = Type.Object({
  is_delivered: Type.Boolean({ description: 'Whether the destination accepted the event.' }),
  status: Type.Union([Type.Integer(), Type.Null()], {
    description: 'HTTP status of the response; null if there was none or the destination does not use HTTP.',
    examples: [204],
  }),
  error: Type.Union([Type.String(), Type.Null()], {
    description: 'Error message; null if the attempt succeeded.',
    examples: ['the receiver returned 503'],
  }),
  duration_ms: Type.Integer({ description: 'Duration in milliseconds.', examples: [87] }),
  event: Type.Object({}, { additionalProperties: true, description: 'The event that was sent.' }),
});

/** Pausing, resuming and testing a destination. */
const destinationActions: readonly Operation<DestinationPorts>[] = [
  statusAction('pause', 'paused', 'Pause an event destination; its deliveries stay pending'),
  statusAction('resume', 'active', 'Resume an event destination and deliver pending events immediately'),
  {
    resource: 'event_destinations',
    verb: 'test',
    method: 'POST',
    path: `${PATH}/test`,
    summary: 'Send a sample event to an event destination',
    body: { schema: Type.Object({}), example: {}, parsing: 'ignored' },
    description:
      'The event is signed like any other and sent immediately, ahead of pending deliveries and regardless of the status of the destination. The response body is not shown.',
    success: { status: 200, schema: testResult, description: 'Result of the test.' },
    errors: ['ERR_POSTERN_NOT_FOUND', 'ERR_POSTERN_NO_EVENT_DELIVERY'],
    run: async (request, { documents, destinationTester }) => {
      const destination = documents.require(KIND, request.params['id'] as string);
      if (destinationTester === null) {
        throw resourceErrors.create(
          'ERR_POSTERN_NO_EVENT_DELIVERY',
          'no node delivers events, so the destination cannot be tested: start one with the role events',
        );
      }
      return { body: await destinationTester.test(destination) };
    },
  },
];

function statusAction(verb: string, status: string, summary: string): Operation<DestinationPorts> {
  return {
    resource: 'event_destinations',
    verb,
    method: 'POST',
    path: `${PATH}/${verb}`,
    summary,
    description: 'Repeating the request has no further effect. The request body is ignored.',
    body: { schema: Type.Object({}), example: {}, parsing: 'ignored' },
    success: { status: 204, schema: null, description: 'Done.' },
    errors: ['ERR_POSTERN_NOT_FOUND'],
    run: async (request, { documents }) => {
      const { revision } = await documents.update(KIND, request.params['id'] as string, request, () => ({
        derived: { status },
      }));
      return { body: null, revision };
    },
  };
}

const targets: TProperties = Object.fromEntries(
  destinationKinds.map((kind) => [kind.name, { ...kind.config, default: null, description: kind.description }]),
);

const JSON_ONLY: readonly string[] = ['json'];
const formats = [...new Set(destinationKinds.flatMap((kind) => kind.formats ?? JSON_ONLY))];

/** Destinations that events are delivered to. */
export const eventDestinations = defineResource({
  name: 'event_destinations',
  kind: 'event_destination',
  idPrefix: 'ed',
  path: '/event_destinations',
  listKey: 'event_destinations',
  title: 'an event destination',
  description: 'A receiver for the events of subscriptions.',
  eventNoun: 'event_destination',
  config: Type.Object({
    ...describedFields,
    format: Type.Enum(formats, {
      default: 'json',
      description:
        'Format of the events: "json" for the event itself; for a webhook also "cloudevents" for the event as the data of a CloudEvent (version 1.0, structured mode), or a message for people: "slack" for an incoming webhook of Slack, "discord" for a webhook of Discord, "teams" for a workflow of Microsoft Teams.',
    }),
    target: Type.Object(targets, {
      description: `Target of the destination: exactly one of ${destinationKinds.map((kind) => `"${kind.name}"`).join(', ')}. The others read back as null.`,
    }),
  }),
  derived: {
    status: Type.Enum(['active', 'paused', 'suspended'], {
      description:
        'Whether events are delivered: "active", "paused" by a request, or "suspended" after failing for too long.',
    }),
  },
  example: { target: { webhook: { url: 'https://hooks.example.com/postern' } } },
  actions: destinationActions,
  check: (config) => [...targetProblems(config.target as JsonObject), ...formatProblems(config)],
  checkChange: (config, previous) =>
    kindIn(config.target as JsonObject) === kindIn(previous.target as JsonObject)
      ? changeProblems(config.target as JsonObject, previous.target as JsonObject)
      : [{ path: '/target', message: 'cannot change to another kind: create another destination' }],
  isArming: (config, previous) => previous !== null && leadsElsewhere(config, previous),
  authorize: (principal, config, previous, { id, reader, eventTypes }) => {
    if (config === null || previous === null || id === null || !leadsElsewhere(config, previous)) return null;
    return unreadableType(subscribedTypes(reader, id), principal, eventTypes);
  },
  authorizeChange: async ({ principal, config, previous }, id, { store, eventTypes }: DestinationPorts) =>
    // Events of types that are no longer subscribed to may still be queued for it.
    leadsElsewhere(config, previous)
      ? unreadableType(await store.deliveries.pendingTypes(id), principal, eventTypes)
      : null,
  onCreate: (config) => ({
    config: { target: completed(config.target as JsonObject) },
    derived: { status: 'active' },
  }),
});

function targetProblems(target: JsonObject): readonly FieldProblem[] {
  const named = destinationKinds.filter((kind) => target[kind.name] !== null && target[kind.name] !== undefined);
  const [kind] = named;
  if (kind === undefined || named.length > 1) {
    const names = destinationKinds.map((each) => `"${each.name}"`).join(', ');
    return [{ path: '/target', message: `must have exactly one of ${names}` }];
  }
  const problems = kind.check?.(target[kind.name] as never) ?? [];
  return problems.map((problem) => ({ ...problem, path: `/target/${kind.name}${problem.path}` }));
}

function formatProblems({
  format,
  target,
}: {
  readonly format: string;
  readonly target: object;
}): readonly FieldProblem[] {
  const kind = destinationKinds.find(({ name }) => ((target as JsonObject)[name] ?? null) !== null);
  const known = kind?.formats ?? JSON_ONLY;
  if (kind === undefined || known.includes(format)) return [];
  return [
    {
      path: '/format',
      message: `must be ${known.map((each) => `"${each}"`).join(', ')} for the target "${kind.name}"`,
    },
  ];
}

function changeProblems(target: JsonObject, previous: JsonObject): readonly FieldProblem[] {
  const kind = destinationKinds.find(({ name }) => name === kindIn(target));
  const problems = kind?.checkChange?.(target[kind.name] as never, previous[kind.name] as never) ?? [];
  return problems.map((problem) => ({ ...problem, path: `/target/${kind?.name}${problem.path}` }));
}

/** Whether events would be sent to a different place than before. */
function leadsElsewhere(config: { readonly target: object }, previous: { readonly target: object }): boolean {
  return destinationKinds.some(
    ({ name, place }) => fieldIn(config.target, name, place) !== fieldIn(previous.target, name, place),
  );
}

function fieldIn(target: object, kind: string, field: string): unknown {
  const config = (target as JsonObject)[kind] as JsonObject | null | undefined;
  return config?.[field] ?? null;
}

function* subscribedTypes(reader: RecordReader, destinationId: string): Iterable<string> {
  for (const { doc } of reader.page('event_subscription', { beforeId: null, limit: Number.MAX_SAFE_INTEGER })) {
    if (!(doc['destination_ids'] as readonly string[]).includes(destinationId)) continue;
    for (const { type } of doc['sources'] as unknown as readonly { readonly type: string }[]) yield type;
  }
}

function kindIn(target: JsonObject): string | undefined {
  return destinationKinds.find((kind) => target[kind.name] !== null)?.name;
}

function completed(target: JsonObject): JsonObject {
  const newSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`;
  return Object.fromEntries(
    destinationKinds.map((kind) => {
      const config = target[kind.name] ?? null;
      return [kind.name, config === null ? null : (kind.complete?.(config as never, newSecret) ?? config)];
    }),
  );
}

export interface DestinationPorts extends Pick<SharedPorts, 'eventTypes'> {
  readonly documents: Pick<DocumentsPort, 'require' | 'update'>;
  readonly store: Pick<Store, 'deliveries'>;
  /** Null when this server does not deliver events. */
  readonly destinationTester: DestinationTester | null;
}

/** Connects to the part that delivers events. */
export interface DestinationTester {
  /** Sends a sample event and returns the outcome. */
  test(destination: StoredRecord): Promise<JsonObject>;
}
