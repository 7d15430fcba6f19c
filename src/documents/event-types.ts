import type { EventType } from '../resources/operation.ts';
import type { Resource } from '../resources/resource.ts';
import { scopeOf } from './scopes.ts';

/** Types that no configuration resource produces. */
const OTHER_TYPES: readonly EventType[] = [
  { type: 'agent_session_start.v0', description: 'An agent connected.', scope: 'tunnel_sessions:read' },
  { type: 'agent_session_stop.v0', description: 'An agent disconnected.', scope: 'tunnel_sessions:read' },
  { type: 'alert_raised.v0', description: 'Something has been wrong for a while.', scope: 'alerts:read' },
  { type: 'alert_resolved.v0', description: 'What an alert was about is right again.', scope: 'alerts:read' },
  {
    type: 'certificate_issued.v0',
    description: 'An ACME server issued a certificate.',
    scope: 'managed_certificates:read',
  },
  {
    type: 'certificate_failed.v0',
    description: 'A certificate could not be obtained from an ACME server.',
    scope: 'managed_certificates:read',
  },
  {
    type: 'certificate_expiring.v0',
    description: 'A certificate from an ACME server expires soon and was not renewed.',
    scope: 'managed_certificates:read',
  },
  { type: 'tunnel_start.v0', description: 'A tunnel went online.', scope: 'tunnels:read' },
  { type: 'tunnel_stop.v0', description: 'A tunnel went offline.', scope: 'tunnels:read' },
  { type: 'http_request_complete.v0', description: 'The edge responded to an HTTP request.', scope: 'edges:read' },
  {
    type: 'tcp_connection_closed.v0',
    description: 'A TCP connection through the edge ended.',
    scope: 'endpoints:read',
  },
];

/** Every event type: three per configuration noun, and those of agents and traffic. */
export function eventTypesOf(resources: readonly Resource[]): readonly EventType[] {
  const nouns = new Map<string, { readonly title: string; readonly scope: string }>();
  for (const resource of resources) {
    if (resource.type === 'configuration' && !nouns.has(resource.eventNoun)) {
      const title = resource.eventNoun === 'backend' ? 'A backend' : sentenceStart(resource.title);
      nouns.set(resource.eventNoun, { title, scope: scopeOf('GET', resource.path) });
    }
  }
  const configuration = [...nouns].flatMap(([noun, { title, scope }]) => [
    { type: `${noun}_created.v0`, description: `${title} was created.`, scope },
    { type: `${noun}_updated.v0`, description: `${title} was changed.`, scope },
    { type: `${noun}_deleted.v0`, description: `${title} was deleted.`, scope },
  ]);
  return [...configuration, ...OTHER_TYPES].sort((a, b) => (a.type < b.type ? -1 : 1));
}

function sentenceStart(title: string): string {
  return title.charAt(0).toUpperCase() + title.slice(1);
}
