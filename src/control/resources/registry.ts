import { edgeKinds } from '../../edges/registry.ts';
import { agentInvitations } from './agent_invitations/agent-invitations.ts';
import { alerts } from './alerts/alerts.ts';
import { apiKeys } from './api_keys/api-keys.ts';
import { appSessions } from './app_sessions/app-sessions.ts';
import { appUsers } from './app_users/app-users.ts';
import { backendResources } from './backend-resources.ts';
import { backends } from './backends/backends.ts';
import { certificateAuthorities } from './certificate_authorities/certificate-authorities.ts';
import { changes } from './changes/changes.ts';
import { changesets } from './changesets/changesets.ts';
import { consoleSessions } from './console_sessions/console-sessions.ts';
import { credentials } from './credentials/credentials.ts';
import { resourcesOfEdges } from './edge-resources.ts';
import { endpoints } from './endpoints/endpoints.ts';
import { eventDeliveries } from './event_deliveries/event-deliveries.ts';
import { eventDestinations } from './event_destinations/event-destinations.ts';
import { eventSources } from './event_sources/event-sources.ts';
import { eventSubscriptions } from './event_subscriptions/event-subscriptions.ts';
import { eventTypes } from './event_types/event-types.ts';
import { explain } from './explain/explain.ts';
import { guestLinks } from './guest_links/guest-links.ts';
import { ipPolicies } from './ip_policies/ip-policies.ts';
import { ipPolicyLists } from './ip_policy_lists/ip-policy-lists.ts';
import { ipPolicyRules } from './ip_policy_rules/ip-policy-rules.ts';
import { managedCertificates } from './managed_certificates/managed-certificates.ts';
import { nodes } from './nodes/nodes.ts';
import { oidcClients } from './oidc_clients/oidc-clients.ts';
import { passkeys } from './passkeys/passkeys.ts';
import { problems } from './problems/problems.ts';
import { requests } from './requests/requests.ts';
import { reservedDomains } from './reserved_domains/reserved-domains.ts';
import type { PortsOf, Resource } from './resource.ts';
import { search } from './search/search.ts';
import { series } from './series/series.ts';
import { serviceAccountTokens } from './service_account_tokens/service-account-tokens.ts';
import { serviceAccounts } from './service_accounts/service-accounts.ts';
import { settings } from './settings/settings.ts';
import { tlsCertificates } from './tls_certificates/tls-certificates.ts';
import { tunnelSessions } from './tunnel_sessions/tunnel-sessions.ts';
import { tunnels } from './tunnels/tunnels.ts';
import { userAccounts } from './user_accounts/user-accounts.ts';

const registered = [
  ...resourcesOfEdges(edgeKinds),
  ...backendResources,
  backends,
  certificateAuthorities,
  tlsCertificates,
  reservedDomains,
  managedCertificates,
  ipPolicies,
  ipPolicyRules,
  ipPolicyLists,
  changesets,
  changes,
  search,
  alerts,
  problems,
  tunnels,
  tunnelSessions,
  endpoints,
  credentials,
  agentInvitations,
  apiKeys,
  eventSubscriptions,
  eventSources,
  eventDestinations,
  eventDeliveries,
  eventTypes,
  guestLinks,
  appSessions,
  appUsers,
  serviceAccounts,
  serviceAccountTokens,
  userAccounts,
  passkeys,
  oidcClients,
  requests,
  explain,
  nodes,
  consoleSessions,
  series,
  settings,
];

/** Everything that the resources use; the server provides it. */
export interface ResourcePorts extends PortsOf<(typeof registered)[number]> {}

/** Every resource of the API, in the order in which documentation lists them. */
export const resources: readonly Resource<ResourcePorts>[] = registered;
