import type { AskedClaims, LearningClient, LearningContext } from '../contract/learns-claims.ts';
import { namesakeScope, standardScopes } from '../login/openid/claim-scopes.ts';
import { ownIssuerOf } from '../login/own-issuer.ts';

export interface RouteClient extends LearningClient {
  /** At Postern's own provider, each edge has a client that is not configured anywhere. */
  readonly isOwn: boolean;
  /** Requested only if the provider announces them. */
  readonly scopesIfKnown: readonly string[];
}

export interface ConfiguredClient {
  readonly issuer: string;
  readonly client_id: string;
  readonly scopes: readonly string[];
}

/** The client of a route, and what it requests; null: something is missing. */
export function routeClient(config: ConfiguredClient, context: LearningContext): RouteClient | null {
  const { issuer, client_id: clientId, scopes } = config;
  const isOwn = clientId === '' && issuer !== '' && issuer === ownIssuerOf(context.settings);
  if (issuer === '' || (clientId === '' && !isOwn)) return null;
  const asked = [...new Set(context.asked.flatMap(({ claims }) => claims))];
  const isChosenHere = scopes.length === 0;
  return {
    issuer,
    isOwn,
    isDiscovered: !isOwn,
    clientId: isOwn ? context.edgeId : clientId,
    scopes: isChosenHere ? (isOwn ? OWN_SCOPES : neededScopes(context.asked)) : scopes,
    scopesIfKnown: isChosenHere && !isOwn ? asked.filter(hasNoStandard).map(namesakeScope) : [],
    scopesFor: (claim) => [...standardScopes(claim), ...(isOwn && claim === 'groups' ? ['groups'] : [])],
  };
}

/** The standard scopes that rules need. */
function neededScopes(asked: readonly AskedClaims[]): readonly string[] {
  return [...new Set(asked.flatMap(({ claims }) => claims.flatMap((claim) => standardScopes(claim).slice(0, 1))))];
}

function hasNoStandard(claim: string): boolean {
  return standardScopes(claim).length === 0;
}

const OWN_SCOPES: readonly string[] = ['openid', 'email', 'profile', 'groups'];
