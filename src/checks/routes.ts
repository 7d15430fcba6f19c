import type { Check } from './check.ts';
import type { CheckedEdge, CheckedRoute, Facts } from './facts.ts';
import { type Finding, findingMaker, type Subject } from './finding.ts';
import { FORBIDDEN_ADVICE, forbiddenLine } from './forbidden-upstream.ts';
import { publicProvider } from './public-providers.ts';

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
