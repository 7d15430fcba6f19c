import Type from 'typebox';
import type { MissingScope } from '../errors.ts';
import type { EventType, Principal } from '../operation.ts';
import type { SharedPorts } from '../ports.ts';
import type { LiveResource } from '../resource.ts';
import { ALL_SCOPES, coversScope } from '../scopes.ts';

export type EventTypePorts = Pick<SharedPorts, 'eventTypes' | 'uri'>;

const PATH = '/event_types';

const schema = Type.Object({
  type: Type.String({ description: 'Name of the event type.', examples: ['ip_policy_created.v0'] }),
  description: Type.String({
    description: 'When the event occurs.',
    examples: ['An IP policy was created.'],
  }),
  scope: Type.String({
    description: 'Scope that an API key needs to subscribe to the type and to read its events.',
    examples: ['ip_policies:read'],
  }),
});

/** Every event type that a subscription can select. */
export const eventTypes: LiveResource<EventTypePorts> = {
  type: 'live',
  name: 'event_types',
  kind: 'event_type',
  idPrefix: '',
  path: PATH,
  listKey: 'event_types',
  title: 'an event type',
  description: 'A type of event that a subscription can include.',
  operations: [
    {
      resource: 'event_types',
      verb: 'list',
      method: 'GET',
      path: PATH,
      summary: 'List all event types',
      description: 'Each type has a description of when it occurs. The list is never paged.',
      success: {
        status: 200,
        schema: Type.Object({
          event_types: Type.Array(schema, { description: 'All event types.' }),
          uri: Type.String({ description: 'URI of the list.' }),
          next_page_uri: Type.Null({ description: 'Always null: the list is never paged.' }),
        }),
        description: 'All event types, never paged.',
      },
      errors: [],
      run: (_request, ports) => ({
        body: {
          event_types: ports.eventTypes.map(({ type, description, scope }) => ({ type, description, scope })),
          uri: ports.uri(PATH),
          next_page_uri: null,
        },
      }),
    },
  ],
};

/**
 * An event contains its whole object, so a key needs permission to read such objects. A type that this version does not
 * know requires permission to read everything.
 */
function scopeOfType(type: string, known: readonly EventType[]): string {
  return known.find((each) => each.type === type)?.scope ?? ALL_SCOPES;
}

export function canReadType(type: string, principal: Principal, known: readonly EventType[]): boolean {
  return coversScope(principal.scopes, scopeOfType(type, known));
}

/** Why a key may not have events of these types sent anywhere, or null. */
export function unreadableType(
  types: Iterable<string>,
  principal: Principal,
  known: readonly EventType[],
): MissingScope | null {
  for (const type of types) {
    if (canReadType(type, principal, known)) continue;
    const scope = scopeOfType(type, known);
    const message = `this API key lacks the scope "${scope}", which the event type "${type}" requires: use a key that has it`;
    return { message, scope };
  }
  return null;
}
