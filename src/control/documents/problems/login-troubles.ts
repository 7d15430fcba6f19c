import { routeRecord } from '../../../edges/record-kinds.ts';
import type { TimeSlice } from '../../../kit/async/slices.ts';
import type { LoginSession } from '../../../modules/contract/login-store.ts';
import type { Module } from '../../../modules/contract/module.ts';
import type { LearningClient } from '../../../modules/contract/prepare.ts';
import { learnedClaims, recentLogins } from '../../../modules/learned-claims.ts';
import { moduleOfRoutes } from '../../../modules/module-config.ts';
import type { Replica } from '../../../store/replica/replica.ts';
import type { Store } from '../../../store/store.ts';
import type { LoginTrouble } from '../../findings/facts.ts';
import { askedOn, type RouteLogins } from '../route-logins.ts';

export interface LoginTroubleSources {
  readonly modules: readonly Module[];
  readonly replica: Pick<Replica, 'all' | 'get'>;
  readonly logins: Pick<Store['logins'], 'listSessions'>;
  readonly learningClient: RouteLogins;
  /** Why providers cannot be asked, by issuer. */
  unreachable(issuers: readonly string[]): Promise<ReadonlyMap<string, string>>;
}

interface RouteWithLogin {
  readonly edgeId: string;
  readonly routeId: string;
  readonly module: string;
  readonly client: LearningClient;
}

/** Providers that do not answer, and rules that a login cannot answer, by route. */
export async function loginTroubles(
  sources: LoginTroubleSources,
  nowMs: number,
  slice: TimeSlice,
): Promise<ReadonlyMap<string, readonly LoginTrouble[]>> {
  const routes = await routesWithLogin(sources, slice);
  const issuers = routes.filter(({ client }) => client.isDiscovered).map(({ client }) => client.issuer);
  const unreachable = await sources.unreachable([...new Set(issuers)]);
  const asking = routes.filter(({ routeId }) => askedOn(routeId, sources.modules, sources.replica).length > 0);
  const recent = await recentLogins(sources.logins, [...new Set(asking.map(({ edgeId }) => edgeId))], nowMs);
  const found = new Map<string, readonly LoginTrouble[]>();
  for (const route of routes) {
    const problem = unreachable.get(route.client.issuer);
    const troubles = [
      ...(problem === undefined ? [] : [{ code: 'provider_unreachable' as const, problem }]),
      // While the store is away, nobody knows what logins bring.
      ...(recent === null ? [] : unansweredRules(route, recent.get(route.edgeId) ?? [], sources)),
    ];
    if (troubles.length > 0) found.set(route.routeId, troubles);
    if (slice.isOver) await slice.next();
  }
  return found;
}

async function routesWithLogin(
  { modules, replica, learningClient }: LoginTroubleSources,
  slice: TimeSlice,
): Promise<readonly RouteWithLogin[]> {
  const routes: RouteWithLogin[] = [];
  for (const { name, learnsFrom } of modules) {
    if (learnsFrom === undefined) continue;
    for (const { parent: routeId, doc } of moduleOfRoutes(replica, name)) {
      const edgeId = routeRecord(replica, routeId ?? '')?.parent ?? null;
      const isServed = doc['enabled'] !== false && routeId !== null && edgeId !== null;
      const client = isServed ? learningClient({ edgeId, routeId }) : null;
      if (isServed && client !== null) routes.push({ edgeId, routeId, module: name, client });
      if (slice.isOver) await slice.next();
    }
  }
  return routes;
}

function unansweredRules(
  { routeId, module, client }: RouteWithLogin,
  logins: readonly LoginSession[],
  { modules, replica }: LoginTroubleSources,
): readonly LoginTrouble[] {
  const learned = learnedClaims(client, logins);
  return askedOn(routeId, modules, replica).flatMap(({ rule, claims }) => {
    const [claim] = claims.filter((name) => !learned.knows(name));
    return claim === undefined ? [] : [unansweredRule(rule, claim, module, client)];
  });
}

function unansweredRule(rule: string, claim: string, module: string, client: LearningClient): LoginTrouble {
  const wanted = client.scopesFor(claim);
  const isMissing = wanted.length > 0 && !wanted.some((scope) => client.scopes.includes(scope));
  const code = isMissing ? 'scope_not_requested' : 'claim_not_received';
  return { code, rule, claim, module, scope: wanted[0] ?? '' };
}
