import Type from 'typebox';
import type { Module } from '../modules/contract/module.ts';
import type { EventType } from '../resources/operation.ts';
import type { Resource } from '../resources/resource.ts';
import { connectionObjectSchema, nodeField, requestObjectSchema } from '../resources/traffic-objects.ts';
import { scopeOf } from './scopes.ts';

/** Types that no configuration resource produces. */
const OTHER_TYPES: readonly EventType[] = [
  {
    type: 'agent_session_start.v0',
    description: 'An agent connected.',
    scope: 'tunnel_sessions:read',
    object: { resources: ['tunnel_sessions'] },
  },
  {
    type: 'agent_session_stop.v0',
    description: 'An agent disconnected.',
    scope: 'tunnel_sessions:read',
    object: { resources: ['tunnel_sessions'], isPartial: true },
  },
  {
    type: 'alert_raised.v0',
    description: 'Something has been wrong for a while.',
    scope: 'alerts:read',
    object: { resources: ['alerts'] },
  },
  {
    type: 'alert_resolved.v0',
    description: 'The cause of an alert is gone.',
    scope: 'alerts:read',
    object: { resources: ['alerts'] },
  },
  {
    type: 'certificate_issued.v0',
    description: 'An ACME server issued a certificate.',
    scope: 'managed_certificates:read',
    object: { resources: ['managed_certificates'] },
  },
  {
    type: 'certificate_failed.v0',
    description: 'A certificate could not be obtained from an ACME server.',
    scope: 'managed_certificates:read',
    object: { resources: ['managed_certificates'] },
  },
  {
    type: 'certificate_expiring.v0',
    description: 'A certificate from an ACME server expires soon and was not renewed.',
    scope: 'managed_certificates:read',
    object: { resources: ['managed_certificates'] },
  },
  {
    type: 'passkey_created.v0',
    description: 'A person registered a passkey.',
    scope: 'user_accounts:read',
    object: { resources: ['passkeys'] },
  },
  {
    type: 'passkey_deleted.v0',
    description: 'A passkey of a person was deleted.',
    scope: 'user_accounts:read',
    object: { resources: ['passkeys'] },
  },
  {
    type: 'tunnel_start.v0',
    description: 'A tunnel went online.',
    scope: 'tunnels:read',
    object: { resources: ['tunnels'] },
  },
  {
    type: 'tunnel_stop.v0',
    description: 'A tunnel went offline.',
    scope: 'tunnels:read',
    object: { resources: ['tunnels'], isPartial: true },
  },
  {
    type: 'http_request_complete.v0',
    description: 'The edge responded to an HTTP request.',
    scope: 'edges:read',
    object: { schema: requestObjectSchema },
  },
  {
    type: 'tcp_connection_closed.v0',
    description: 'A TCP connection through the edge ended.',
    scope: 'endpoints:read',
    object: { schema: connectionObjectSchema },
  },
];

/** Every event type: three per configuration noun, and those of modules, agents and traffic. */
export function eventTypesOf(resources: readonly Resource[], modules: readonly Module[]): readonly EventType[] {
  const configured = resources.filter((resource) => resource.type === 'configuration');
  const configuration = [...Map.groupBy(configured, ({ eventNoun }) => eventNoun)].flatMap(([noun, group]) => {
    const [first] = group;
    if (first === undefined) return [];
    const title = noun === 'backend' ? 'A backend' : sentenceStart(first.title);
    const shared = { scope: scopeOf('GET', first.path), object: { resources: group.map(({ name }) => name) } };
    return [
      { type: `${noun}_created.v0`, description: `${title} was created.`, ...shared },
      { type: `${noun}_updated.v0`, description: `${title} was changed.`, ...shared },
      { type: `${noun}_deleted.v0`, description: `${title} was deleted.`, ...shared },
      ...Object.entries(first.otherEvents ?? {}).map(([verb, description]) => ({
        type: `${noun}_${verb}.v0`,
        description,
        ...shared,
      })),
    ];
  });
  return [...configuration, ...modules.flatMap(ofModule), ...OTHER_TYPES].sort((a, b) => (a.type < b.type ? -1 : 1));
}

function ofModule({ events = [] }: Module): readonly EventType[] {
  return events.map(({ type, description, object }) => ({
    type,
    description,
    scope: 'edges:read',
    object: { schema: Type.Object({ ...object.properties, node: nodeField }) },
  }));
}

function sentenceStart(title: string): string {
  return title.charAt(0).toUpperCase() + title.slice(1);
}
