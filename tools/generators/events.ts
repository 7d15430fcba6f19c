import { createCatalog } from '../../src/documents/catalog.ts';
import { modules } from '../../src/modules/registry.ts';
import { resources } from '../../src/resources/registry.ts';

const PAGE_PATH = 'docs/reference/events.md';

export const name = 'events';

/** Every event type that a subscription can trigger for. */
export function generate(): Promise<Map<string, string>> {
  const { eventTypes } = createCatalog(resources, modules);
  const rows = eventTypes.map(({ type, description }) => `| \`${type}\` | ${description} |`);
  const page = [
    '# Event types',
    '',
    '<!-- Made from the registries in src/ by "npm run generate". Do not edit. -->',
    '',
    'A subscription triggers for the types that are its sources. `GET /event_types` lists the same.',
    '',
    '| type | when |',
    '|---|---|',
    ...rows,
  ];
  return Promise.resolve(new Map([[PAGE_PATH, `${page.join('\n')}\n`]]));
}
