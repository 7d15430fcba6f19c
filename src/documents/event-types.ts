import type { EventType } from '../resources/operation.ts';
import type { Resource } from '../resources/resource.ts';

/** Types that no configuration resource causes. */
const OTHER_TYPES: readonly EventType[] = [
  { type: 'agent_session_start.v0', description: 'An agent connected.' },
  { type: 'agent_session_stop.v0', description: 'An agent went away.' },
  { type: 'tunnel_start.v0', description: 'A tunnel went online.' },
  { type: 'tunnel_stop.v0', description: 'A tunnel went offline.' },
  { type: 'http_request_complete.v0', description: 'The edge answered an HTTP request.' },
  { type: 'tcp_connection_closed.v0', description: 'A TCP connection through the edge ended.' },
];

/** Every event type there is: three per configuration noun, and those of agents and traffic. */
export function eventTypesOf(resources: readonly Resource[]): readonly EventType[] {
  const nouns = new Map<string, string>();
  for (const resource of resources) {
    if (resource.type === 'configuration' && !nouns.has(resource.eventNoun)) {
      nouns.set(resource.eventNoun, resource.eventNoun === 'backend' ? 'A backend' : sentenceStart(resource.title));
    }
  }
  const configuration = [...nouns].flatMap(([noun, title]) => [
    { type: `${noun}_created.v0`, description: `${title} was created.` },
    { type: `${noun}_updated.v0`, description: `${title} was changed.` },
    { type: `${noun}_deleted.v0`, description: `${title} was deleted.` },
  ]);
  return [...configuration, ...OTHER_TYPES].sort((a, b) => (a.type < b.type ? -1 : 1));
}

function sentenceStart(title: string): string {
  return title.charAt(0).toUpperCase() + title.slice(1);
}
