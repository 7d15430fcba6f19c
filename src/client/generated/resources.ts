// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Transport } from '../transport.ts';
import { AgentInvitationsClient } from './agent-invitations.ts';
import { AlertsClient } from './alerts.ts';
import { ApiKeysClient } from './api-keys.ts';
import { AppSessionsClient } from './app-sessions.ts';
import { AppUsersClient } from './app-users.ts';
import { BackendsClient } from './backends.ts';
import { CertificateAuthoritiesClient } from './certificate-authorities.ts';
import { ChangesClient } from './changes.ts';
import { ChangesetsClient } from './changesets.ts';
import { ConsoleSessionsClient } from './console-sessions.ts';
import { CredentialsClient } from './credentials.ts';
import { EndpointsClient } from './endpoints.ts';
import { EventDeliveriesClient } from './event-deliveries.ts';
import { EventDestinationsClient } from './event-destinations.ts';
import { EventSourcesClient } from './event-sources.ts';
import { EventSubscriptionsClient } from './event-subscriptions.ts';
import { EventTypesClient } from './event-types.ts';
import { ExplainClient } from './explain.ts';
import { FailoverBackendsClient } from './failover-backends.ts';
import { FilesBackendsClient } from './files-backends.ts';
import { GuestLinksClient } from './guest-links.ts';
import { HttpResponseBackendsClient } from './http-response-backends.ts';
import { HttpsEdgeRoutesClient } from './https-edge-routes.ts';
import { HttpsEdgesClient } from './https-edges.ts';
import { IpPoliciesClient } from './ip-policies.ts';
import { IpPolicyListsClient } from './ip-policy-lists.ts';
import { IpPolicyRulesClient } from './ip-policy-rules.ts';
import { ManagedCertificatesClient } from './managed-certificates.ts';
import { NodesClient } from './nodes.ts';
import { OidcClientsClient } from './oidc-clients.ts';
import { PasskeysClient } from './passkeys.ts';
import { ProblemsClient } from './problems.ts';
import { RequestsClient } from './requests.ts';
import { ReservedDomainsClient } from './reserved-domains.ts';
import { SearchClient } from './search.ts';
import { SeriesClient } from './series.ts';
import { ServiceAccountTokensClient } from './service-account-tokens.ts';
import { ServiceAccountsClient } from './service-accounts.ts';
import { SettingsClient } from './settings.ts';
import { StaticBackendsClient } from './static-backends.ts';
import { TlsCertificatesClient } from './tls-certificates.ts';
import { TunnelGroupBackendsClient } from './tunnel-group-backends.ts';
import { TunnelSessionsClient } from './tunnel-sessions.ts';
import { TunnelsClient } from './tunnels.ts';
import { UserAccountsClient } from './user-accounts.ts';
import { WeightedBackendsClient } from './weighted-backends.ts';

export type * from './access-module.ts';
export type * from './agent-invitations.ts';
export type * from './alerts.ts';
export type * from './api-keys.ts';
export type * from './app-sessions.ts';
export type * from './app-users.ts';
export type * from './backend-module.ts';
export type * from './backends.ts';
export type * from './basic-auth-module.ts';
export type * from './certificate-authorities.ts';
export type * from './changes.ts';
export type * from './changesets.ts';
export type * from './circuit-breaker-module.ts';
export type * from './compression-module.ts';
export type * from './console-sessions.ts';
export type * from './credentials.ts';
export type * from './endpoints.ts';
export type * from './event-deliveries.ts';
export type * from './event-destinations.ts';
export type * from './event-sources.ts';
export type * from './event-subscriptions.ts';
export type * from './event-types.ts';
export type * from './explain.ts';
export type * from './failover-backends.ts';
export type * from './files-backends.ts';
export type * from './guest-links.ts';
export type * from './http-response-backends.ts';
export type * from './https-edge-routes.ts';
export type * from './https-edges.ts';
export type * from './ip-policies.ts';
export type * from './ip-policy-lists.ts';
export type * from './ip-policy-rules.ts';
export type * from './ip-restriction-module.ts';
export type * from './maintenance-module.ts';
export type * from './managed-certificates.ts';
export type * from './mutual-tls-module.ts';
export type * from './nodes.ts';
export type * from './oauth-module.ts';
export type * from './oidc-clients.ts';
export type * from './oidc-module.ts';
export type * from './passkeys.ts';
export type * from './problems.ts';
export type * from './rate-limit-module.ts';
export type * from './redirect-module.ts';
export type * from './request-headers-module.ts';
export type * from './requests.ts';
export type * from './reserved-domains.ts';
export type * from './response-headers-module.ts';
export type * from './rewrite-module.ts';
export type * from './search.ts';
export type * from './series.ts';
export type * from './service-account-tokens.ts';
export type * from './service-accounts.ts';
export type * from './settings.ts';
export type * from './static-backends.ts';
export type * from './tls-certificates.ts';
export type * from './tls-termination-module.ts';
export type * from './tunnel-group-backends.ts';
export type * from './tunnel-sessions.ts';
export type * from './tunnels.ts';
export type * from './user-accounts.ts';
export type * from './user-agent-filter-module.ts';
export type * from './weighted-backends.ts';

/** Every resource of the API. */
export class Resources {
  /** A set of hosts served over HTTPS, with routes for their requests. */
  readonly httpsEdges: HttpsEdgesClient;
  /** A path of an edge, with the modules that process its requests. */
  readonly httpsEdgeRoutes: HttpsEdgeRoutesClient;
  /** Balances requests over the tunnels that have all of its labels. */
  readonly tunnelGroupBackends: TunnelGroupBackendsClient;
  /** Distributes requests over other backends by weight. */
  readonly weightedBackends: WeightedBackendsClient;
  /**
   * Forwards requests to the first backend that can be reached. A response with an error status is final: it does
   * not cause a failover.
   */
  readonly failoverBackends: FailoverBackendsClient;
  /** Returns the same response to every request. */
  readonly httpResponseBackends: HttpResponseBackendsClient;
  /** Forwards requests to one address. */
  readonly staticBackends: StaticBackendsClient;
  /** Serves the files of a folder on the server. */
  readonly filesBackends: FilesBackendsClient;
  /** Tests of addresses, before a backend has them. */
  readonly backends: BackendsClient;
  /** A CA certificate against which the mutual TLS module verifies client certificates. */
  readonly certificateAuthorities: CertificateAuthoritiesClient;
  /** A certificate with its private key. The edge presents it for the hosts that it names. */
  readonly tlsCertificates: TlsCertificatesClient;
  /** A host and the source of its certificate. Edges do not require a reservation. */
  readonly reservedDomains: ReservedDomainsClient;
  /**
   * A name whose certificate the server orders and renews at an ACME server: a public host of an edge, a reserved
   * domain, or a name of the server itself.
   */
  readonly managedCertificates: ManagedCertificatesClient;
  /**
   * A set of rules for client addresses, applied by the IP restriction module. Deleting a policy deletes its
   * rules.
   */
  readonly ipPolicies: IpPoliciesClient;
  /** An address range that a policy allows or denies. */
  readonly ipPolicyRules: IpPolicyRulesClient;
  /**
   * A list of addresses that a policy allows or denies: from a URL, from a file, or by country. A policy has at
   * most 50. While a list that is enforced was never loaded, the routes of its policy reject all traffic.
   */
  readonly ipPolicyLists: IpPolicyListsClient;
  /** Several writes that are stored together or not at all. */
  readonly changesets: ChangesetsClient;
  /** A change of configuration: who made it, when, and every document before and after it. */
  readonly changes: ChangesClient;
  /** Finds resources by host name, path, name, description, metadata or id. */
  readonly search: SearchClient;
  /**
   * Something that is wrong now: an agent that is away, a failing backend, a certificate, a stuck delivery, a full
   * disk, a lost node.
   */
  readonly alerts: AlertsClient;
  /** Something in the configuration or the state of the installation that does not work, or soon will not. */
  readonly problems: ProblemsClient;
  /** A tunnel that an agent keeps open. Only online tunnels are listed. */
  readonly tunnels: TunnelsClient;
  /** The session of a connected agent. */
  readonly tunnelSessions: TunnelSessionsClient;
  /** A public address served by an edge or a tunnel. */
  readonly endpoints: EndpointsClient;
  /**
   * An agent token, with the rules for what its agents may open. The token is shown only once, in the response to
   * the create, and stored as a hash. Deleting the credential ends its tunnel sessions.
   */
  readonly credentials: CredentialsClient;
  /**
   * A line that an agent on another machine exchanges for a credential of its own, once and within ten minutes
   * ("postern agent join"). It contains the address of the gateway, the hash of its CA, and a secret that is
   * stored as a hash; only the response to the create shows it. The exchange deletes the invitation and creates
   * the credential in one change. Deleting the invitation revokes it.
   */
  readonly agentInvitations: AgentInvitationsClient;
  /** A key for this API. Its token is shown only once, in the response to the create, and stored as a hash. */
  readonly apiKeys: ApiKeysClient;
  /** A set of event types and the destinations that receive them. */
  readonly eventSubscriptions: EventSubscriptionsClient;
  /** An event type that a subscription includes. */
  readonly eventSources: EventSourcesClient;
  /** A receiver for the events of subscriptions. */
  readonly eventDestinations: EventDestinationsClient;
  /** The delivery of an event to a destination, with its attempts. */
  readonly eventDeliveries: EventDeliveriesClient;
  /** A type of event that a subscription can include. */
  readonly eventTypes: EventTypesClient;
  /**
   * A link that lets a guest without an account use a route whose access module allows guests. Its URL is shown
   * only once, in the response to the create, and its secret is stored as a hash. Deleting the link ends the
   * sessions of its guests; so does deleting the route or the edge.
   */
  readonly guestLinks: GuestLinksClient;
  /** A person's login session on a route with a login module. */
  readonly appSessions: AppSessionsClient;
  /** A person who has logged in on a route with a login module. */
  readonly appUsers: AppUsersClient;
  /**
   * A program that passes routes without a login: its tokens are sent as "Authorization: Bearer pst_…", and the
   * access module of a route names the account. An account that an access module names cannot be deleted.
   */
  readonly serviceAccounts: ServiceAccountsClient;
  /**
   * A bearer token of a service account. It is shown only once, in the response to the create, and stored as a
   * hash. Deleting it, or its expiry, ends open streams within a second.
   */
  readonly serviceAccountTokens: ServiceAccountTokensClient;
  /**
   * A person who logs in at the identity host with a passkey. The response to the create has a link with which the
   * person registers the first one; if mail is set up, the person also gets it by mail. Deleting the account ends
   * all logins of the person within a second, and cannot be undone. A key or person cannot manage people whose
   * role in the console has scopes that it lacks, or would have them again if a pending change is reverted. A
   * change that gives the person more in the console ends their logins, and the invitation if its maker could not
   * give that.
   */
  readonly userAccounts: UserAccountsClient;
  /** A passkey with which a person logs in. Only the person can add one, at the identity host. */
  readonly passkeys: PasskeysClient;
  /**
   * An application at which people log in with their account of the identity host, by OpenID Connect: the code
   * flow with PKCE. Its secret is shown only once, in the response to the create, and stored as a hash. Edges need
   * no client: the oidc module of a route is one by itself.
   */
  readonly oidcClients: OidcClientsClient;
  /** A request to the edge that has finished, with the decision of each module, its timings and its target. */
  readonly requests: RequestsClient;
  /** What the edge would do with a request, and why. */
  readonly explain: ExplainClient;
  /** A node: a running server of this installation. Several nodes share a PostgreSQL database. */
  readonly nodes: NodesClient;
  /** A login to the console, with an API key, with OpenID Connect or from the machine of a node. */
  readonly consoleSessions: ConsoleSessionsClient;
  /** Requests, errors, bytes and latency over time. */
  readonly series: SeriesClient;
  /** A setting of the server, as in its configuration file. */
  readonly settings: SettingsClient;

  constructor(transport: Transport) {
    this.httpsEdges = new HttpsEdgesClient(transport);
    this.httpsEdgeRoutes = new HttpsEdgeRoutesClient(transport);
    this.tunnelGroupBackends = new TunnelGroupBackendsClient(transport);
    this.weightedBackends = new WeightedBackendsClient(transport);
    this.failoverBackends = new FailoverBackendsClient(transport);
    this.httpResponseBackends = new HttpResponseBackendsClient(transport);
    this.staticBackends = new StaticBackendsClient(transport);
    this.filesBackends = new FilesBackendsClient(transport);
    this.backends = new BackendsClient(transport);
    this.certificateAuthorities = new CertificateAuthoritiesClient(transport);
    this.tlsCertificates = new TlsCertificatesClient(transport);
    this.reservedDomains = new ReservedDomainsClient(transport);
    this.managedCertificates = new ManagedCertificatesClient(transport);
    this.ipPolicies = new IpPoliciesClient(transport);
    this.ipPolicyRules = new IpPolicyRulesClient(transport);
    this.ipPolicyLists = new IpPolicyListsClient(transport);
    this.changesets = new ChangesetsClient(transport);
    this.changes = new ChangesClient(transport);
    this.search = new SearchClient(transport);
    this.alerts = new AlertsClient(transport);
    this.problems = new ProblemsClient(transport);
    this.tunnels = new TunnelsClient(transport);
    this.tunnelSessions = new TunnelSessionsClient(transport);
    this.endpoints = new EndpointsClient(transport);
    this.credentials = new CredentialsClient(transport);
    this.agentInvitations = new AgentInvitationsClient(transport);
    this.apiKeys = new ApiKeysClient(transport);
    this.eventSubscriptions = new EventSubscriptionsClient(transport);
    this.eventSources = new EventSourcesClient(transport);
    this.eventDestinations = new EventDestinationsClient(transport);
    this.eventDeliveries = new EventDeliveriesClient(transport);
    this.eventTypes = new EventTypesClient(transport);
    this.guestLinks = new GuestLinksClient(transport);
    this.appSessions = new AppSessionsClient(transport);
    this.appUsers = new AppUsersClient(transport);
    this.serviceAccounts = new ServiceAccountsClient(transport);
    this.serviceAccountTokens = new ServiceAccountTokensClient(transport);
    this.userAccounts = new UserAccountsClient(transport);
    this.passkeys = new PasskeysClient(transport);
    this.oidcClients = new OidcClientsClient(transport);
    this.requests = new RequestsClient(transport);
    this.explain = new ExplainClient(transport);
    this.nodes = new NodesClient(transport);
    this.consoleSessions = new ConsoleSessionsClient(transport);
    this.series = new SeriesClient(transport);
    this.settings = new SettingsClient(transport);
  }
}
