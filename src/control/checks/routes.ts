import { splitAddress } from '../../kit/net/host-name.ts';
import { type Check, type Finding, findingMaker, type Subject } from './check.ts';
import type { CheckedEdge, CheckedRoute, Facts, ForbiddenUpstream } from './facts.ts';

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

const found = findingMaker('routes');

/** Edges and routes that reject everything, have no backend, or admit everybody, also to this server itself. */
export const routes = {
  name: 'routes',
  nouns: ['edges'],
  *run(facts: Pick<Facts, 'edges' | keyof KnownOfOwners>): Generator<Finding | null> {
    for (const edge of facts.edges) yield* checkEdge(edge, facts);
  },
} satisfies Check;

type KnownOfOwners = Pick<Facts, 'unprepared' | 'logins' | 'isOwnApi' | 'whyForbidden'>;

/** What people call it; the finding has the id beside the text. */
function hostOf({ id, hostports }: CheckedEdge): string {
  return hostports[0]?.replace(/:443$/, '') ?? id;
}

function* checkEdge(edge: CheckedEdge, known: KnownOfOwners): Generator<Finding | null> {
  const name = hostOf(edge);
  const about = { id: edge.id };
  let isFine = true;
  for (const finding of [...modulesOf(about, name, known.unprepared), ...withoutUse(edge, name, about)]) {
    isFine = false;
    yield finding;
  }
  for (const route of edge.routes) {
    const ofRoute = checkRoute(edge, route, known);
    isFine &&= ofRoute.length === 0;
    yield null;
    yield* ofRoute;
  }
  if (isFine) yield found.ok(`${name} and all its routes can be served`);
}

function withoutUse(edge: CheckedEdge, name: string, about: Subject): readonly Finding[] {
  return [
    ...(edge.hostports.length > 0
      ? []
      : [found.hint(`${edge.id} has no hosts: it receives no requests`, undefined, about)]),
    ...(edge.routes.length > 0 ? [] : [found.hint(`${name} has no routes: every request gets 404`, undefined, about)]),
  ];
}

function checkRoute(edge: CheckedEdge, route: CheckedRoute, known: KnownOfOwners): readonly Finding[] {
  const name = `${hostOf(edge)}${route.match}`;
  const about = { id: route.id, parentId: edge.id };
  const findings = [
    ...modulesOf(about, name, known.unprepared),
    ...known.logins(route.id).map(({ level, line, advice }) => found[level](`${name}: ${line}`, advice, about)),
  ];
  if (!route.hasBackend)
    findings.push(
      found.warning(
        `${name} has no backend: its requests get 503`,
        `set one: postern api backend replace --edge ${edge.id} --route ${route.id} --backend-id ID`,
        about,
      ),
    );
  for (const upstream of route.upstreams) {
    const why = known.whyForbidden(upstream);
    if (why !== null) findings.push(found.problem(`${name}: ${forbiddenLine(upstream)}`, FORBIDDEN_ADVICE[why], about));
  }
  const provider = route.issuer === null || route.hasAccessRules ? null : publicProvider(route.issuer);
  if (provider !== null)
    findings.push(
      found.warning(
        `${name} admits anyone with an account at ${provider}`,
        `name who may enter in access rules (postern api access replace --edge ${edge.id} --route ${route.id}), or use a provider or tenant with only your own users`,
        about,
      ),
    );
  if (!route.isGuarded && route.upstreams.some(known.isOwnApi))
    findings.push(
      found.problem(
        `${name} leads everybody to the API and the console of this server, without a login`,
        'put a login in front of it, or publish the console with: postern up HOST --console CONSOLE_HOST. If nobody should reach it from outside, delete the route',
        about,
      ),
    );
  return findings;
}

function modulesOf(about: Subject, name: string, unprepared: Facts['unprepared']): readonly Finding[] {
  const place =
    about.parentId === undefined ? `/edges/https/${about.id}` : `/edges/https/${about.parentId}/routes/${about.id}`;
  return unprepared(about.id).map(({ module, line }) =>
    found.problem(
      `${name} rejects all traffic: ${line}`,
      `repair the module, or delete it: DELETE ${place}/${module}`,
      about,
    ),
  );
}
