import { createCatalog } from '../../src/control/documents/catalog.ts';
import { resources } from '../../src/control/resources/registry.ts';
import { modules } from '../../src/modules/registry.ts';

const PAGE_PATH = 'docs/reference/events.md';

export const name = 'events';

/** Every event type that a subscription can select. */
export function generate(): Promise<Map<string, string>> {
  const { eventTypes } = createCatalog(resources, modules);
  const rows = eventTypes.map(({ type, description, scope }) => `| \`${type}\` | ${description} | \`${scope}\` |`);
  const page = [
    '# Event types',
    '',
    '<!-- Generated from the registries in src/ by "npm run generate". Do not edit. -->',
    '',
    'A subscription delivers the event types that are its sources. `GET /event_types` returns the same list. An event contains its whole object. A key therefore needs the scope of the type, in addition to `event_subscriptions:write`, for these operations:',
    '',
    '- subscribe to the type, or add a destination to a subscription that contains it;',
    '- change the target of a destination of such a subscription;',
    '- replay an event of the type, or see its object in `GET /event_deliveries`.',
    '',
    'Existing subscriptions continue, whatever scopes the keys have that created them.',
    '',
    '`http_request_complete.v0` and `tcp_connection_closed.v0` have two fields about nodes. `node` is the name of the node that the client reached. `tunnel_node` is the name of the node that passed the request or connection on to its agent, or null if no other node was involved.',
    '',
    '| type | when | scope |',
    '|---|---|---|',
    ...rows,
  ];
  return Promise.resolve(new Map([[PAGE_PATH, `${page.join('\n')}\n`]]));
}
