import type { HttpsEdgeRoute } from '../../client/generated/https-edge-routes.ts';
import type { OidcModule } from '../../client/generated/oidc-module.ts';
import { type Flag, type ParsedFlags, usage } from '../../lib/flags.ts';
import type { JsonObject } from '../../lib/json.ts';
import { fileFlag, textFlag } from '../shared-flags.ts';

export interface WantedLogin {
  readonly issuer: string;
  readonly clientId: string;
  /** Null: keep the stored one. */
  readonly clientSecret: string | null;
}

/** The module that `postern edge` sets up. */
export const LOGIN_MODULE = 'oidc';

export const LOGIN_FLAGS: readonly Flag[] = [
  textFlag('oidc', 'ISSUER', 'Require a login at this OpenID provider: the URL of its issuer.'),
  textFlag('client-id', 'ID', 'With --oidc: client id of your application at the provider.'),
  fileFlag('client-secret-file', 'With --oidc: file with the client secret, - reads standard input.'),
];

export function parseLogin(flags: ParsedFlags['flags'], clientSecret: string | null): WantedLogin | null {
  const [issuer, clientId] = [flags.get('oidc'), flags.get('client-id')];
  if (issuer === undefined) {
    const [extra] = ['client-id', 'client-secret-file'].filter((name) => flags.has(name));
    if (extra !== undefined) throw usage(`--${extra} needs --oidc ISSUER`);
    return null;
  }
  if (clientId === undefined) throw usage('--oidc needs --client-id ID, which the provider gave your application');
  return { issuer, clientId, clientSecret };
}

/** Issuer of the login that a route has and this command can change; null if it has none. */
export function issuerOf(route: HttpsEdgeRoute | null): string | null {
  return route?.oidc?.enabled === true ? route.oidc.issuer : null;
}

/** Why the login of a route stands against the wanted one, or its absence against `--allow-email-domain`. */
export function loginObstacle(
  login: WantedLogin | null,
  route: HttpsEdgeRoute | null,
  { place, needsLogin }: { readonly place: string; readonly needsLogin: boolean },
): string | null {
  const hasOther = route?.oauth?.enabled === true;
  if (login !== null && hasOther) {
    return `${place} has a login by the oauth module already. Remove it with: postern api oauth delete ${place}`;
  }
  if (needsLogin && login === null && issuerOf(route) === null && !hasOther) {
    return `--allow-email-domain needs a login: add --oidc ISSUER --client-id ID`;
  }
  return null;
}

/** What to do for the wanted login on a route that exists. */
export function loginChange(
  login: WantedLogin,
  { oidc }: HttpsEdgeRoute,
): { readonly sign: '+' | '~' | '='; readonly body: JsonObject } {
  const sign = oidc === null ? '+' : isSame(login, oidc) ? '=' : '~';
  return { sign, body: loginBody(login, oidc) };
}

export function loginBody({ issuer, clientId, clientSecret }: WantedLogin, former: OidcModule | null): JsonObject {
  return {
    ...(former === null ? { scopes: ['openid', 'email', 'profile'] } : (former as unknown as JsonObject)),
    enabled: true,
    issuer,
    client_id: clientId,
    ...(clientSecret !== null && { client_secret: clientSecret }),
  };
}

/** A key that may not read secrets sees an empty one: then it is sent again. */
function isSame({ issuer, clientId, clientSecret }: WantedLogin, oidc: OidcModule): boolean {
  const isSameSecret = clientSecret === null || clientSecret === oidc.client_secret;
  return oidc.enabled && oidc.issuer === issuer && oidc.client_id === clientId && isSameSecret;
}
