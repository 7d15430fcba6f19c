import type { JsonObject } from '../../kit/json.ts';
import type { OidcModule } from '../generated/oidc-module.ts';
import type { Setting } from '../generated/settings.ts';
import type { SiteEdge, SiteRoute } from '../sites.ts';
import type { WantedEdge, WantedLogin } from './wanted-edge.ts';

/** The module that a published site logs in with. */
export const LOGIN_MODULE = 'oidc';

/** The module that says who of the people who logged in may enter. */
export const RULES_MODULE = 'access';

/** The module that asks for a name and a password. */
export const PASSWORD_MODULE = 'basic_auth';

/** Undefined: the server has no identity host. */
export function ownLogin(settings: readonly Pick<Setting, 'name' | 'value'>[]): WantedLogin | undefined {
  const host = settings.find(({ name }) => name === 'identity_host')?.value;
  return typeof host === 'string' ? { issuer: `https://${host}`, clientId: '', clientSecret: null } : undefined;
}

/** Whether a login needs no redirect URI at its provider: the server's own identity host knows its edges. */
export function isOwnLogin(login: WantedLogin | null, route: SiteRoute | null): boolean {
  return (login?.clientId ?? route?.oidc?.client_id) === '';
}

/** Issuer of the login that a route has and this command can change; null if it has none. */
export function issuerOf(route: SiteRoute | null): string | null {
  return route?.oidc?.enabled === true ? route.oidc.issuer : null;
}

/** The login of a route, for a line of the plan; null: it has none. */
export function loginText(route: SiteRoute): string | null {
  const issuer = issuerOf(route);
  if (issuer !== null) return `login at ${issuer}`;
  return route.oauth?.enabled === true ? 'login by the oauth module' : null;
}

/** The modules that `--no-login` removes. */
export const GUARDS = [
  ['oidc', 'login'],
  ['oauth', 'login'],
  [RULES_MODULE, 'access rules'],
] as const;

/** Whether an edge keeps somebody out. */
export function isProtected({ mutual_tls: clients, routes }: SiteEdge): boolean {
  const names = [...GUARDS.map(([name]) => name), PASSWORD_MODULE, 'ip_restriction'] as const;
  return clients?.enabled === true || routes.some((route) => names.some((name) => route[name]?.enabled === true));
}

/** What keeps somebody out of a route beside a login, for people; null: nothing. */
export function otherProtection(
  route: SiteRoute | null,
  { passwords, addresses }: Pick<WantedEdge, 'passwords' | 'addresses'>,
): string | null {
  const parts = [
    ...(passwords !== undefined || route?.[PASSWORD_MODULE]?.enabled === true ? ['a password'] : []),
    ...(addresses !== undefined || route?.ip_restriction?.enabled === true ? ['an allowed address'] : []),
  ];
  return parts.length === 0 ? null : parts.join(' and ');
}

/** Why the login of a route stands against the wanted one, or its absence against rules about people. */
export function loginObstacle(
  login: WantedLogin | null,
  route: SiteRoute | null,
  { place, needsLogin }: { readonly place: string; readonly needsLogin: boolean },
): string | null {
  const hasOther = route?.oauth?.enabled === true;
  if (login !== null && hasOther) {
    return `${place} has a login by the oauth module already. Remove it with: postern api oauth delete ${place}`;
  }
  if (needsLogin && login === null && issuerOf(route) === null && !hasOther) {
    return '--allow-email, --allow-email-domain and --allow-groups need a login: add --login, or --oidc ISSUER --client-id ID';
  }
  return redirectedSecret(login, route?.oidc ?? null, place);
}

/**
 * The server asks a key that cannot read the stored secret for it. The one that this key can read must not be sent to
 * another provider either.
 */
function redirectedSecret(login: WantedLogin | null, former: OidcModule | null, place: string): string | null {
  if (login === null || login.clientId === '' || login.clientSecret !== null) return null;
  if (former === null || former.client_secret === '' || former.issuer === login.issuer) return null;
  return `the client secret of ${place} belongs to ${former.issuer}, and is not sent to ${login.issuer}: add --client-secret-file FILE. For a client without a secret, first remove the login with: postern api ${LOGIN_MODULE} delete ${place}`;
}

/** What to do for the wanted login on a route that exists. */
export function loginChange(
  login: WantedLogin,
  { oidc }: SiteRoute,
): { readonly sign: '+' | '~' | '='; readonly body: JsonObject } {
  const sign = oidc === null ? '+' : isSame(login, oidc) ? '=' : '~';
  return { sign, body: loginBody(login, oidc) };
}

/** What most upstreams want to know about people. */
export const USUAL_SCOPES: readonly string[] = ['openid', 'email', 'profile'];

export function loginBody(
  { issuer, clientId, clientSecret, scopes = USUAL_SCOPES }: WantedLogin,
  former: OidcModule | null,
): JsonObject {
  if (clientId === '') {
    const own = { enabled: true, issuer, client_id: '', client_secret: '', scopes: [] };
    return former === null ? { issuer } : { ...(former as unknown as JsonObject), ...own };
  }
  return {
    ...(former === null ? { scopes: [...scopes] } : (former as unknown as JsonObject)),
    enabled: true,
    issuer,
    client_id: clientId,
    ...(clientSecret !== null && { client_secret: clientSecret }),
  };
}

/** What a login at the same issuer has beside these fields stays. A secret is not sent to another provider. */
export function replacedLogin(login: WantedLogin, { oidc }: SiteRoute): JsonObject {
  const body = loginBody(login, oidc?.issuer === login.issuer ? oidc : null);
  return login.scopes === undefined ? body : { ...body, scopes: [...login.scopes] };
}

/** A key that may not read secrets sees an empty one: then it is sent again. */
function isSame({ issuer, clientId, clientSecret }: WantedLogin, oidc: OidcModule): boolean {
  const isSameSecret = clientSecret === null || clientSecret === oidc.client_secret;
  return oidc.enabled && oidc.issuer === issuer && oidc.client_id === clientId && isSameSecret;
}
