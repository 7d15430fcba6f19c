import { createCatalog } from '../../src/documents/catalog.ts';
import { modules } from '../../src/modules/registry.ts';
import { resources } from '../../src/resources/registry.ts';

const PAGE_PATH = 'docs/reference/events.md';

export const name = 'events';

/** Every event type that a subscription can select. */
export function generate(): Promise<Map<string, string>> {
  const { eventTypes } = createCatalog(resources, modules);
  const rows = eventTypes.map(({ type, description, scope }) => `| \`${type}\` | ${description} | \`${scope}\` |`);
  const page = [
    '# Event types',
    '',
    '<!-- Made from the registries in src/ by "npm run generate". Do not edit. -->',
    '',
    'A subscription triggers for the types that are its sources. `GET /event_types` lists the same. An event',
    'shows its object whole: a key needs the scope of the type, beside `event_subscriptions:write`, to subscribe to it, to add a destination to',
    'a subscription of it, to change where a destination of such a subscription leads, to replay such an event and to see its object in',
    '`GET /event_deliveries`. Subscriptions that are there go on, whatever the scopes of their makers.',
    '',
    '| type | when | scope |',
    '|---|---|---|',
    ...rows,
  ];
  return Promise.resolve(new Map([[PAGE_PATH, `${page.join('\n')}\n`]]));
}
