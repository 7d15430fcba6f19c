import { edgePath } from '../../../edges/record-kinds.ts';
import { type Finding, type FoundObject, findingTable } from '../../../kit/findings.ts';
import { splitAddress } from '../../../kit/net/host-name.ts';
import type { CheckedEdge, CheckedRoute, Facts, ForbiddenUpstream, UnansweredRule } from '../facts.ts';
import type { Check, Subject } from '../subject.ts';

/** Requests to such an upstream get 502, with the reason `forbidden_address`. */
export function forbiddenLine(upstream: string): string {
  return `the edge may not connect to ${splitAddress(upstream).host}`;
}

/** Remedies, by the reason. */
export const FORBIDDEN_ADVICE: Readonly<Record<ForbiddenUpstream, string>> = {
  own_api: 'it is the API of this server: set api_behind_edge to publish it, or change the address of the backend',
  own_listener: 'this server listens there itself: change the address of the backend',
  metadata: 'add it to upstream_allow_cidrs, or change the address of the backend',
};

/** Providers where anybody can create an account: a login there identifies nobody in particular. */
const PUBLIC_HOSTS: ReadonlyMap<string, string> = new Map([
  ['accounts.google.com', 'Google'],
  ['appleid.apple.com', 'Apple'],
  ['gitlab.com', 'GitLab'],
  ['github.com', 'GitHub'],
  ['token.actions.githubusercontent.com', 'GitHub Actions'],
  ['www.facebook.com', 'Facebook'],
  ['facebook.com', 'Facebook'],
  ['www.linkedin.com', 'LinkedIn'],
  ['api.login.yahoo.com', 'Yahoo'],
  ['discord.com', 'Discord'],
  ['id.twitch.tv', 'Twitch'],
  ['slack.com', 'Slack'],
  ['login.salesforce.com', 'Salesforce'],
  ['access.line.me', 'LINE'],
  ['kauth.kakao.com', 'Kakao'],
]);

const MICROSOFT_HOSTS = ['login.microsoftonline.com', 'login.windows.net', 'sts.windows.net'];
/** In place of a tenant's id; the last is the tenant of all personal accounts. */
const OPEN_TENANTS = ['common', 'organizations', 'consumers', '9188040d-6c67-4c5b-b112-36a304b66dad'];

/** The provider's name if it is public, otherwise null. */
function publicProvider(issuer: string): string | null {
  if (!URL.canParse(issuer)) return null;
  const { hostname, pathname } = new URL(issuer);
  if (MICROSOFT_HOSTS.includes(hostname)) {
    const [, tenant = ''] = pathname.toLowerCase().split('/');
    return OPEN_TENANTS.includes(tenant) ? 'Microsoft' : null;
  }
  return PUBLIC_HOSTS.get(hostname) ?? null;
}

/** An edge or a route, by the name that people have for it; the finding has the id beside the text. */
interface Place {
  readonly name: string;
  readonly id: string;
  /** The edge of a route, otherwise of no use. */
  readonly edgeId: string;
}

const { kinds, found, ok } = findingTable('routes', {
  module_unprepared: {
    level: 'problem',
    text: ({ name, line }: Place & { readonly line: string }) => `${name} rejects all traffic: ${line}`,
    advice: ({ id, edgeId, module }: Place & { readonly module: string }) =>
      `repair the module, or delete it: DELETE ${id === edgeId ? edgePath(id) : edgePath(edgeId, id)}/${module}`,
  },
  edge_without_hosts: { level: 'hint', text: ({ id }: Place) => `${id} has no hosts: it receives no requests` },
  edge_without_routes: { level: 'hint', text: ({ name }: Place) => `${name} has no routes: every request gets 404` },
  provider_unreachable: {
    level: 'problem',
    text: ({ name, problem }: Place & { readonly problem: string }) => `${name}: nobody can log in: ${problem}`,
    advice: 'check the issuer, and that this server can reach it: names, firewall, proxy and certificate',
  },
  scope_not_requested: {
    level: 'problem',
    text: ({ name, rule, claim, scope }: Place & UnansweredRule) =>
      `${name}: ${rule} matches nobody: it needs "${claim}", and the login does not request the scope ${scope}`,
    advice: ({ scope, module }: UnansweredRule) =>
      `add ${scope} to the scopes of the ${module} module, or leave its scopes empty: then the login requests what the rules need`,
  },
  claim_not_received: {
    level: 'warning',
    text: ({ name, rule, claim }: Place & UnansweredRule) =>
      `${name}: ${rule} matches nobody: the last logins here brought no "${claim}"`,
    advice: ({ module }: UnansweredRule) =>
      `have the provider send the claim to this client, or add the scope for it to the ${module} module`,
  },
  route_without_backend: {
    level: 'warning',
    text: ({ name }: Place) => `${name} has no backend: its requests get 503`,
    advice: ({ id, edgeId }: Place) =>
      `set one: postern api backend replace --edge ${edgeId} --route ${id} --backend-id ID`,
  },
  upstream_forbidden: {
    level: 'problem',
    text: ({ name, upstream }: Place & { readonly upstream: string }) => `${name}: ${forbiddenLine(upstream)}`,
    advice: ({ why }: { readonly why: ForbiddenUpstream }) => FORBIDDEN_ADVICE[why],
  },
  anyone_admitted: {
    level: 'warning',
    text: ({ name, provider }: Place & { readonly provider: string }) =>
      `${name} admits anyone with an account at ${provider}`,
    advice: ({ id, edgeId }: Place) =>
      `name who may enter in access rules (postern api access replace --edge ${edgeId} --route ${id}), or use a provider or tenant with only your own users`,
  },
  own_api_open: {
    level: 'problem',
    text: ({ name }: Place) => `${name} leads everybody to the API and the console of this server, without a login`,
    advice:
      'put a login in front of it, or publish the console with: postern up HOST --console CONSOLE_HOST. If nobody should reach it from outside, delete the route',
  },
});

/** Edges and routes that reject everything, have no backend, or admit everybody, also to this server itself. */
const routesCheck: Check = {
  name: 'routes',
  nouns: ['edges'],
  kinds,
  *run(facts: Pick<Facts, 'edges' | keyof KnownOfOwners>): Generator<Finding | null> {
    for (const edge of facts.edges) yield* checkEdge(edge, facts);
  },
};

type KnownOfOwners = Pick<Facts, 'unprepared' | 'logins' | 'isOwnApi' | 'whyForbidden'>;

function hostOf({ id, hostports }: CheckedEdge): string {
  return hostports[0]?.replace(/:443$/, '') ?? id;
}

function* checkEdge(edge: CheckedEdge, known: KnownOfOwners): Generator<Finding | null> {
  const { id, hostports, routes: all } = edge;
  const place: Place = { name: hostOf(edge), id, edgeId: id };
  const about = { id };
  const ofEdge = [
    ...modulesOf(place, about, known.unprepared),
    ...(hostports.length > 0 ? [] : [found('edge_without_hosts', place, about)]),
    ...(all.length > 0 ? [] : [found('edge_without_routes', place, about)]),
  ];
  let isFine = ofEdge.length === 0;
  yield* ofEdge;
  for (const route of all) {
    const ofRoute = checkRoute(edge, route, known);
    isFine &&= ofRoute.length === 0;
    yield null;
    yield* ofRoute;
  }
  if (isFine) yield ok(`${place.name} and all its routes can be served`);
}

function checkRoute(edge: CheckedEdge, route: CheckedRoute, known: KnownOfOwners): readonly Finding[] {
  const place: Place = { name: `${hostOf(edge)}${route.match}`, id: route.id, edgeId: edge.id };
  const about = { id: route.id, parentId: edge.id };
  const findings = [
    ...modulesOf(place, about, known.unprepared),
    ...known.logins(route.id).map((trouble) => found(trouble.code, { ...place, ...trouble }, about)),
  ];
  if (!route.hasBackend) findings.push(found('route_without_backend', place, about));
  for (const upstream of route.upstreams) {
    const why = known.whyForbidden(upstream);
    if (why !== null) findings.push(found('upstream_forbidden', { ...place, upstream, why }, about));
  }
  const provider = route.issuer === null || route.hasAccessRules ? null : publicProvider(route.issuer);
  if (provider !== null) findings.push(found('anyone_admitted', { ...place, provider }, about));
  if (!route.isGuarded && route.upstreams.some(known.isOwnApi)) findings.push(found('own_api_open', place, about));
  return findings;
}

function modulesOf(place: Place, about: FoundObject, unprepared: Facts['unprepared']): readonly Finding[] {
  return unprepared(about.id).map((module) => found('module_unprepared', { ...place, ...module }, about));
}

export const routes: Subject = { checks: [routesCheck] };
