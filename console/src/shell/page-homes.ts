import { isBackend, resourceType } from '../schema/resource-types.ts';

/** Page that lists the documents of a tag. */
const HOMES: Readonly<Record<string, string>> = {
  tunnels: '/tunnels?tab=tunnels',
  tunnel_sessions: '/tunnels?tab=tunnel_sessions',
  tls_certificates: '/certificates?tab=tls_certificates',
  managed_certificates: '/certificates?tab=managed_certificates',
  certificate_authorities: '/certificates?tab=certificate_authorities',
  reserved_domains: '/certificates?tab=reserved_domains',
  user_accounts: '/people?tab=user_accounts',
  oidc_clients: '/people?tab=oidc_clients',
  app_users: '/people?tab=app_users',
  app_sessions: '/people?tab=app_sessions',
  guest_links: '/people?tab=guest_links',
  api_keys: '/keys?tab=api_keys',
  credentials: '/keys?tab=credentials',
  agent_invitations: '/keys?tab=agent_invitations',
  service_accounts: '/keys?tab=service_accounts',
  service_account_tokens: '/keys?tab=service_account_tokens',
  event_subscriptions: '/events?tab=event_subscriptions',
  event_destinations: '/events?tab=event_destinations',
  event_deliveries: '/events?tab=event_deliveries',
};

export function homeOf(tag: string): string {
  const type = resourceType(tag);
  if (type !== undefined && isBackend(type)) return `/backends?tab=${tag}`;
  return HOMES[tag] ?? `/resources/${tag}`;
}
