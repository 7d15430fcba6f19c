import type { ReportedFinding } from '../../kit/findings.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../kit/json.ts';
import type { ListenAddress, ListenAddresses } from '../../kit/net/listen-address.ts';
import type { ModuleSettings } from '../../modules/module-settings.ts';
import { modules } from '../../modules/registry.ts';

/** The settings of the server that checks judge. */
export interface CheckedSettings {
  readonly identity_host: string | null;
  readonly api_listen: ListenAddress;
  readonly api_metrics_open: boolean;
  readonly trusted_proxies: readonly string[];
  readonly upstream_allow_cidrs: readonly string[];
  readonly edge_listen: ListenAddresses;
  readonly edge_http_listen: ListenAddresses;
  readonly acme: 'off' | 'on';
  readonly acme_challenges: readonly string[];
  readonly moduleSettings: ModuleSettings;
}

/** Everything that checks look at. Objects have the form in which the API shows them, reduced to what is needed. */
export interface Facts {
  readonly nowMs: number;
  /** For the doctor: settings of this shell, which equal the server's only when both got the same input. */
  readonly config: CheckedSettings;
  /** Why the server cannot store changes; null: it can. */
  readonly storeProblem: { readonly code: string; readonly message: string } | null;
  /** Records that the server cannot read, and treats as absent: the API never wrote them. */
  readonly unreadable: readonly { readonly kind: string; readonly id: string }[];
  readonly nodes: readonly CheckedNode[];
  /** The other nodes, as the server that answers sees them. */
  readonly peers: readonly PeerStatus[];
  readonly edges: readonly CheckedEdge[];
  /** Modules of an edge or route that reject all traffic. */
  readonly unprepared: (ownerId: string) => readonly UnpreparedModule[];
  readonly tls_certificates: readonly CheckedCertificate[];
  readonly managed_certificates: readonly CheckedManagedCertificate[];
  readonly certificate_authorities: readonly CheckedAuthority[];
  readonly ip_policy_lists: readonly CheckedList[];
  readonly event_destinations: readonly CheckedDestination[];
  readonly user_accounts: readonly CheckedAccount[];
  /** Agents that reported something: the newest sessions. */
  readonly tunnel_sessions: readonly CheckedAgent[];
  /** Alerts that are raised, without dismissed ones. */
  readonly alerts: readonly CheckedAlert[];
  /** Whether requests to this upstream reach the API and the console of this server. */
  readonly isOwnApi: (upstream: string) => boolean;
  /** Why the edge may not connect to this upstream; null: it may. */
  readonly whyForbidden: (upstream: string) => ForbiddenUpstream | null;
  /** What is wrong with the login of a route. */
  readonly logins: (routeId: string) => readonly LoginTrouble[];
}

/** An address of the server itself, or one that clouds use for their metadata. */
export type ForbiddenUpstream = 'own_api' | 'own_listener' | 'metadata';

export interface CheckedAlert {
  readonly id: string;
  readonly kind: string;
  readonly title: string;
}

/** Why logins on a route fail, or let nobody in. */
export type LoginTrouble =
  | { readonly code: 'provider_unreachable'; readonly problem: string }
  | (UnansweredRule & { readonly code: 'claim_not_received' | 'scope_not_requested' });

/** An access rule that matches nobody. */
export interface UnansweredRule {
  readonly rule: string;
  readonly claim: string;
  /** The module that logs people in. */
  readonly module: string;
  /** The first scope that brings the claim; empty if none is known. */
  readonly scope: string;
}

export interface CheckedAgent {
  readonly id: string;
  readonly ip: string;
  readonly metadata: string;
  /** Written by the agent, which is a stranger. */
  readonly problems: readonly string[];
}

interface CheckedAccount {
  readonly id: string;
  readonly email: string;
  /** Identity hosts that the passkeys were registered for. */
  readonly passkeyHosts: readonly string[];
}

/** First segments of the API's paths. `<noun>:read` is the scope that a key needs for it. */
export type Noun =
  | 'nodes'
  | 'edges'
  | 'tls_certificates'
  | 'managed_certificates'
  | 'certificate_authorities'
  | 'ip_policy_lists'
  | 'event_destinations'
  | 'user_accounts'
  | 'tunnel_sessions'
  | 'alerts'
  | 'settings';

export interface CheckedNode {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly status: 'ready' | 'draining' | 'lost';
  readonly last_seen_at: string;
  readonly problems: readonly ReportedFinding[];
}

export interface PeerStatus {
  readonly name: string;
  readonly status: string;
}

export interface CheckedEdge {
  readonly id: string;
  readonly hostports: readonly string[];
  /** Ids of the authorities whose client certificates it accepts. */
  readonly clientAuthorities: readonly string[];
  readonly routes: readonly CheckedRoute[];
}

export interface CheckedRoute {
  readonly id: string;
  readonly match: string;
  readonly hasBackend: boolean;
  /** Issuer of its login; null without a login at an OpenID provider. */
  readonly issuer: string | null;
  /** Whether access rules choose among those who are logged in. */
  readonly hasAccessRules: boolean;
  /** Whether something keeps strangers out: a login, rules, a client certificate or a list of addresses. */
  readonly isGuarded: boolean;
  /** Fixed addresses that its requests may go to, `host:port`. */
  readonly upstreams: readonly string[];
}

export interface UnpreparedModule {
  readonly module: string;
  /** `oidc: login has no issuer`. */
  readonly line: string;
}

export interface CheckedCertificate {
  readonly id: string;
  readonly subject_common_name: string;
  readonly subject_alternative_names: { readonly dns_names: readonly string[] };
  readonly not_after: string;
}

export interface CheckedManagedCertificate {
  readonly id: string;
  readonly hostname: string;
  readonly status: 'issued' | 'pending' | 'failed';
  readonly not_after: string | null;
  readonly renews_at: string | null;
  readonly provisioning_job: {
    readonly error_code: string | null;
    readonly msg: string | null;
    readonly retries_at: string | null;
  } | null;
}

export interface CheckedAuthority {
  readonly id: string;
  readonly subject_common_name: string;
  readonly not_after: string;
  readonly crl_mode: 'off' | 'soft' | 'hard';
  readonly crl_url: string;
  readonly crl_status: string;
  readonly crl_next_update: string | null;
  readonly crl_error: string | null;
}

/** With its state on the server that answers. */
export interface CheckedList {
  readonly id: string;
  readonly description: string;
  readonly enforce: boolean;
  readonly status: 'current' | 'stale' | 'missing';
  readonly entries: number;
  readonly skipped_lines: number;
  readonly error: string | null;
}

export interface CheckedDestination {
  readonly id: string;
  readonly description: string;
  readonly status: 'active' | 'paused' | 'suspended';
}

/** The configuration of a module on an edge or route, as stored or as the API shows it; null or undefined: not set. */
type ModuleOn = (name: string) => JsonValue | undefined;

export function checkedEdge(
  edge: Pick<CheckedEdge, 'id' | 'hostports'>,
  module: ModuleOn,
  routes: readonly CheckedRoute[],
): CheckedEdge {
  return {
    id: edge.id,
    hostports: edge.hostports,
    clientAuthorities: authorityIds(enabled(module('mutual_tls'))),
    routes,
  };
}

/** Modules of a route that keep strangers out, whatever their configuration. */
const GUARDS = modules.flatMap(({ name, isLogin }) => (isLogin === true || name === 'ip_restriction' ? [name] : []));

interface RouteParts {
  readonly module: ModuleOn;
  readonly ofEdge: ModuleOn;
  readonly upstreamsOf: (backendId: string) => readonly string[];
}

export function checkedRoute(
  { id, match }: Pick<CheckedRoute, 'id' | 'match'>,
  { module, ofEdge, upstreamsOf }: RouteParts,
): CheckedRoute {
  const login = enabled(module('oidc'));
  const rules = enabled(module('access'));
  const backend = enabled(module('backend'));
  const hasAccessRules = ['allow', 'bearer'].some((list) => hasItems(rules?.[list]));
  const isGuarded = enabled(ofEdge('mutual_tls')) !== null || GUARDS.some((name) => enabled(module(name)) !== null);
  return {
    ...{ id, match, hasBackend: backend !== null },
    issuer: login === null ? null : ((login['issuer'] ?? '') as string),
    hasAccessRules,
    isGuarded: isGuarded || hasAccessRules,
    upstreams: backend === null ? [] : upstreamsOf(backend['backend_id'] as string),
  };
}

/** Stored as ids, and shown as references. */
function authorityIds(mutualTls: JsonObject | null): readonly string[] {
  const { certificate_authority_ids: ids, certificate_authorities: refs } = mutualTls ?? {};
  return (ids ??
    (refs as readonly { readonly id: string }[] | undefined)?.map(({ id }) => id) ??
    []) as readonly string[];
}

function hasItems(list: JsonValue | undefined): boolean {
  return Array.isArray(list) && list.length > 0;
}

function enabled(module: JsonValue | undefined): JsonObject | null {
  return isJsonObject(module) && module['enabled'] !== false ? module : null;
}
