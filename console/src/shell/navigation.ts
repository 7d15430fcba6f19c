import { SITE_EDGE, SITE_ROUTE } from '../../../src/client/sites.ts';
import { isAllowed } from '../api/scopes.ts';
import { isBackend, resourceTypes } from '../schema/resource-types.ts';

export interface NavigationItem {
  readonly name: string;
  readonly below: string;
  /** Any of them opens the page. */
  readonly scopes: readonly string[];
}

export interface NavigationSection {
  readonly name: string;
  readonly items: readonly NavigationItem[];
}

const SECTIONS: readonly NavigationSection[] = [
  {
    name: '',
    items: [
      { name: 'Overview', below: '/', scopes: [] },
      { name: 'Sites', below: '/sites', scopes: ['edges:read'] },
    ],
  },
  {
    name: 'Traffic',
    items: [
      { name: 'Live traffic', below: '/traffic', scopes: ['requests:read'] },
      { name: 'Explain', below: '/explain', scopes: ['explain:read'] },
      { name: 'Tunnels', below: '/tunnels', scopes: ['tunnels:read', 'tunnel_sessions:read'] },
      { name: 'Certificates', below: '/certificates', scopes: ['tls_certificates:read', 'managed_certificates:read'] },
    ],
  },
  {
    name: 'Access',
    items: [
      { name: 'People', below: '/people', scopes: ['user_accounts:read', 'oidc_clients:read', 'app:read'] },
      { name: 'Access rules', below: '/access', scopes: ['edges:read'] },
      { name: 'Keys and tokens', below: '/keys', scopes: ['api_keys:read', 'credentials:read'] },
    ],
  },
  {
    name: 'Operation',
    items: [
      { name: 'Changes', below: '/changes', scopes: ['changes:read'] },
      { name: 'Events', below: '/events', scopes: ['event_subscriptions:read', 'event_destinations:read'] },
      { name: 'Settings', below: '/settings', scopes: ['settings:read'] },
      { name: 'Console sessions', below: '/sessions', scopes: ['console:read'] },
    ],
  },
];

/** Objects as the API has them, for what sites do not show. */
const ADVANCED: readonly NavigationItem[] = [
  { name: 'Edges and routes', below: '/edges', scopes: ['edges:read'] },
  { name: 'Backends', below: '/backends', scopes: ['backends:read'] },
];

/** Lists that a page of their own already shows. */
const SHOWN_ELSEWHERE = new Set([
  SITE_EDGE.resource,
  SITE_ROUTE.resource,
  'tunnels',
  'tunnel_sessions',
  'tls_certificates',
  'managed_certificates',
  'certificate_authorities',
  'reserved_domains',
  'user_accounts',
  'oidc_clients',
  'app_users',
  'app_sessions',
  'api_keys',
  'credentials',
  'agent_invitations',
  'service_accounts',
  'service_account_tokens',
  'changes',
  'changesets',
  'event_subscriptions',
  'event_destinations',
  'event_deliveries',
  'event_types',
  'event_sources',
  'guest_links',
  'requests',
  'console_sessions',
  'settings',
  'series',
]);

/** A new resource of the API appears under "Advanced" without code of the console. */
export function navigation(): readonly NavigationSection[] {
  const more = resourceTypes.value
    .filter((type) => !SHOWN_ELSEWHERE.has(type.tag) && !type.list.path.includes('{') && !isBackend(type))
    .map((type) => ({ name: capital(type.plural), below: `/resources/${type.tag}`, scopes: type.list.scopes }));
  return [...SECTIONS, { name: 'Advanced', items: [...ADVANCED, ...more] }]
    .map(({ name, items }) => ({ name, items: items.filter(isOffered) }))
    .filter(({ items }) => items.length > 0);
}

function isOffered({ scopes }: NavigationItem): boolean {
  return scopes.length === 0 || scopes.some(isAllowed);
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
