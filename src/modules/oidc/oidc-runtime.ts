import type { ModuleRuntime, RuntimePorts } from '../contract/keeps-state.ts';
import { ownIssuerOf } from '../contract/own-issuer.ts';
import type { AskedClaims, LearningClient, LearningContext } from '../contract/prepare.ts';
import { login } from '../login/login.ts';
import type { LoginRuntime } from '../login/login-runtime.ts';

/** The module's part of the logins of this process. */
export class OidcRuntime implements ModuleRuntime {
  readonly login: LoginRuntime;

  constructor(ports: Pick<RuntimePorts, 'shared' | 'ownConfigs'>) {
    this.login = ports.shared(login);
    this.login.keepClients((edgeId) =>
      ports.ownConfigs(edgeId).map((config) => ({
        issuer: config['issuer'] as string,
        // A route without a client at our own provider has the one of its edge.
        clientId: (config['client_id'] as string) || edgeId,
      })),
    );
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

interface RouteClient extends LearningClient {
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

/** OpenID Connect Core 1.0 §5.4: the claims that each scope asks for. */
const CLAIMS_OF_SCOPES: Readonly<Record<string, readonly string[]>> = {
  email: ['email', 'email_verified'],
  phone: ['phone_number', 'phone_number_verified'],
  address: ['address'],
  profile: [
    ...['name', 'family_name', 'given_name', 'middle_name', 'nickname', 'preferred_username', 'profile', 'picture'],
    ...['website', 'gender', 'birthdate', 'zoneinfo', 'locale', 'updated_at'],
  ],
};

/** The standard scopes for a claim; empty: the standard does not say. A dotted name is a path into an object. */
function standardScopes(claim: string): readonly string[] {
  const name = firstName(claim);
  return Object.keys(CLAIMS_OF_SCOPES).filter((scope) => CLAIMS_OF_SCOPES[scope]?.includes(name) === true);
}

/** `groups` for a claim `groups`: many providers name scopes after claims, and announce those that they know. */
function namesakeScope(claim: string): string {
  return firstName(claim);
}

function firstName(claim: string): string {
  return claim.split('.')[0] ?? claim;
}
