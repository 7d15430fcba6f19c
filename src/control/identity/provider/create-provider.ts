import {
  type Configuration,
  errors,
  interactionPolicy,
  type JWK,
  type KoaContextWithOIDC,
  Provider,
} from 'oidc-provider';
import { listen } from '../../../kit/guarded-listeners.ts';
import type { GuardedFetch } from '../../../kit/http/guarded-fetch.ts';
import { escapedHtml, linkButton, PAGE_STYLE_SOURCE, plainPage } from '../../../kit/http/plain-page.ts';
import { hashToken, isSameSecret } from '../../../kit/text/secrets.ts';
import type { AgentConsents } from './identity-clients.ts';
import type { CookieSignature } from './identity-keys.ts';
import { type AdapterPorts, providerSessionId, storeAdapter } from './store-adapter.ts';

export const SESSION_COOKIE = '__Host-postern-identity';
const SIGN_IN_PATH = '/sign-in';
const CONSENT_PATH = '/consent';
/** Why a person is asked for consent: see `AgentConsents`. */
export const AGENT_CONSENT = 'agent_consent';

export interface ProviderOptions extends AdapterPorts {
  readonly issuer: string;
  readonly jwks: readonly JWK[];
  readonly sessionSeconds: number;
  readonly signature: CookieSignature;
  readonly consents: AgentConsents;
  /** For back-channel logouts: the only requests that the library makes. */
  readonly fetch: GuardedFetch;
  readonly onProblem: (error: unknown) => void;
}

const MINUTE = 60;
/** While a person looks for their passkey. */
const INTERACTION_SECONDS = 30 * MINUTE;
/**
 * Without "offline_access": every application gets refresh tokens, and they end with the session. The library drops
 * this scope from most logins anyway.
 */
const SCOPES = ['openid', 'email', 'profile', 'groups'];

/** The library's provider, reduced to what Postern offers: the code flow with PKCE, refresh, userinfo and logout. */
export function createProvider(options: ProviderOptions): Provider {
  const provider = new Provider(options.issuer, configuration(options));
  // Scheme and host come from us, and from nobody else: see `runProvider`.
  provider.proxy = true;
  provider.use(async (ctx, next) => {
    ctx.set('content-security-policy', PROVIDER_PAGE_POLICY);
    ctx.set('referrer-policy', 'no-referrer');
    ctx.set('x-content-type-options', 'nosniff');
    await next();
  });
  const client = provider.Client.prototype as unknown as ClientMethods;
  // Secrets are stored as hashes.
  client.compareClientSecret = compareSecret;
  // Every ID token names its session: logins on routes end with it.
  client.includeSid = () => true;
  const { prototype: idToken } = provider.IdToken as unknown as { readonly prototype: IdTokenMethods };
  const { issue } = idToken;
  idToken.issue = function issueBound(options) {
    return issue.call(boundToAccessToken(this, options.use), options);
  };
  const { prototype } = (provider as unknown as { readonly OIDCContext: { readonly prototype: object } }).OIDCContext;
  Object.defineProperty(prototype, 'requestParamScopes', { get: knownScopes });
  const { Session } = provider;
  const { IN_PAYLOAD: kept } = Session as unknown as { readonly IN_PAYLOAD: readonly string[] };
  // The library stores the fields that it knows when it changes a session.
  Object.defineProperty(Session, 'IN_PAYLOAD', { get: () => [...kept, 'passkey'] });
  const owner = { contain: options.onProblem };
  listen(provider, 'server_error', owner, (_ctx: unknown, error: unknown) => options.onProblem(error));
  listen(provider, 'error', owner, (error: unknown) => options.onProblem(error));
  return provider;
}

/** Methods of the library's clients that its types do not have. */
interface ClientMethods {
  compareClientSecret(actual: string): boolean;
  includeSid(): boolean;
}

/** The same of its ID tokens. */
interface IdTokenMethods {
  readonly ctx: KoaContextWithOIDC | undefined;
  set(claim: string, value: string): void;
  issue: (this: IdTokenMethods, options: { readonly use: string }) => Promise<string>;
}

/**
 * With the access token of the same response. The library hashes it into `at_hash` (OpenID Connect Core §3.1.3.6), but
 * only where that is mandatory, and some applications refuse ID tokens without it.
 */
function boundToAccessToken(token: IdTokenMethods, use: string): IdTokenMethods {
  const issued = token.ctx?.oidc.entities.AccessToken;
  // The value of an opaque token is its id.
  if (use === 'idtoken' && issued !== undefined) token.set('at_hash', issued.jti);
  return token;
}

function compareSecret(this: { readonly clientSecret?: string }, actual: string): boolean {
  return isSameSecret(hashToken(actual), this.clientSecret ?? '');
}

/**
 * Scopes that nobody knows are ignored, as OpenID Connect Core §3.1.2.1 wants. The library ignores them in logins, and
 * then refuses applications that repeat them in a refresh, as authlib does.
 */
function knownScopes(this: { readonly requestParamOIDCScopes: ReadonlySet<string> }): ReadonlySet<string> {
  return this.requestParamOIDCScopes;
}

function configuration(options: ProviderOptions): Configuration {
  const { people, sessionSeconds, signature } = options;
  const cookie = { httpOnly: true, overwrite: true, sameSite: 'lax', secure: true, path: '/' } as const;
  return {
    adapter: storeAdapter(options),
    jwks: { keys: [...options.jwks] },
    findAccount: async (ctx, accountId, token) => {
      const person = people.find(accountId);
      if (person === null) return undefined;
      // A token is used: a person who lost the right to log in to its application since then gets nothing more.
      const { client } = ctx.oidc;
      if (token !== undefined && client !== undefined && !isAdmitted(client.clientId, person.groups, options))
        return undefined;
      return { accountId, claims: () => ({ ...person.claims, sub: accountId }) };
    },
    claims: {
      openid: ['sub', 'amr', 'auth_time'],
      email: ['email', 'email_verified'],
      profile: ['name'],
      groups: ['groups'],
    },
    conformIdTokenClaims: false,
    scopes: SCOPES,
    responseTypes: ['code'],
    allowOmittingSingleRegisteredRedirectUri: false,
    subjectTypes: ['public'],
    clientAuthMethods: ['client_secret_basic', 'client_secret_post', 'none'],
    enabledJWA: { idTokenSigningAlgValues: ['RS256'] },
    pkce: { required: () => true },
    cookies: {
      names: { session: SESSION_COOKIE, interaction: '__Host-postern-waiting', resume: 'postern-resume' },
      long: { ...cookie, signed: true },
      short: { ...cookie, signed: false },
      keys: signature as never,
    },
    features: {
      devInteractions: { enabled: false },
      dPoP: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      resourceIndicators: { enabled: false },
      revocation: { enabled: true, allowedPolicy: mayRevoke },
      backchannelLogout: { enabled: true },
      rpInitiatedLogout: { enabled: true, logoutSource: logoutPage, postLogoutSuccessSource: loggedOutPage },
    },
    routes: {
      authorization: '/auth',
      token: '/token',
      jwks: '/jwks',
      userinfo: '/userinfo',
      revocation: '/token/revocation',
      end_session: '/session/end',
    },
    interactions: {
      policy: policyOf(options),
      url: (_ctx, { uid, prompt }) =>
        `${prompt.reasons.includes(AGENT_CONSENT) ? CONSENT_PATH : SIGN_IN_PATH}?interaction=${uid}`,
    },
    ttl: {
      Interaction: INTERACTION_SECONDS,
      AuthorizationCode: MINUTE,
      AccessToken: 10 * MINUTE,
      IdToken: 60 * MINUTE,
      Grant: sessionSeconds,
      RefreshToken: sessionSeconds,
      // From the login on: use does not extend it.
      Session: (_ctx, { loginTs }) => Math.max(1, (loginTs ?? nowSeconds()) + sessionSeconds - nowSeconds()),
    },
    loadExistingGrant: (ctx) => grantOf(ctx, options),
    // Also for applications that ask for "offline_access".
    expiresWithSession: async () => true,
    issueRefreshToken: async (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    rotateRefreshToken: true,
    clientBasedCORS: () => false,
    renderError,
    fetch: async (url, init) => {
      const { method, headers, body } = init as RequestInit;
      return options.fetch(url instanceof Request ? url.url : url, {
        ...(method !== undefined && { method }),
        headers: Object.fromEntries(new Headers(headers)),
        body: typeof body === 'string' ? body : (body as URLSearchParams | null),
      });
    },
  } satisfies Configuration as Configuration;
}

/**
 * An application revokes its own tokens. The library's own rule is the same, and prints a notice that it should be
 * changed.
 */
async function mayRevoke(
  _ctx: unknown,
  client: RevokingClient,
  token: { readonly clientId?: string | undefined },
): Promise<boolean> {
  if (token.clientId === client.clientId) return true;
  // Anybody can claim to be a public application: it does not learn whether the token exists.
  if (client.clientAuthMethod === 'none') return false;
  throw new errors.InvalidRequest('client is not authorized to revoke the presented token');
}

interface RevokingClient {
  readonly clientId: string;
  readonly clientAuthMethod?: string | undefined;
}

/** The library asks this at every login, also when the person comes back from a page of ours. */
function policyOf({ clients, consents }: ProviderOptions): interactionPolicy.DefaultPolicy {
  const policy = interactionPolicy.base();
  policy.get('consent')?.checks.add(
    new interactionPolicy.Check(AGENT_CONSENT, 'the person has not agreed yet', 'consent_required', async (ctx) => {
      const { client, session, params } = ctx.oidc;
      const { redirect_uri: uri } = params ?? {};
      const found = client && clients.find(client.clientId, typeof uri === 'string' ? [uri] : []);
      if (found == null || session?.accountId === undefined) return interactionPolicy.Check.REQUEST_PROMPT;
      const isKnown = found.agent === null || (await consents.has(session.accountId, found.agent));
      return isKnown ? interactionPolicy.Check.NO_NEED_TO_PROMPT : interactionPolicy.Check.REQUEST_PROMPT;
    }),
  );
  return policy;
}

function isAdmitted(clientId: string, groups: readonly string[], { clients }: ProviderOptions): boolean {
  return clients.find(clientId, [])?.admits(groups) === true;
}

async function grantOf(ctx: KoaContextWithOIDC, options: ProviderOptions) {
  const { session, client, account, provider, params } = ctx.oidc;
  if (session === undefined || client === undefined || account === undefined) return undefined;
  const groups = options.people.find(account.accountId)?.groups ?? [];
  if (!isAdmitted(client.clientId, groups, options)) {
    throw new errors.AccessDenied(undefined, 'none of the groups of the person may log in to this application');
  }
  session.sidFor(client.clientId, providerSessionId(session.uid));
  const known = session.grantIdFor(client.clientId);
  const existing = known === undefined ? undefined : await provider.Grant.find(known);
  const grant = existing ?? new provider.Grant({ accountId: account.accountId, clientId: client.clientId });
  const granted = grant.getOIDCScope();
  // Nobody is asked: an administrator has decided who may log in here.
  const { scope } = params ?? {};
  grant.addOIDCScope(typeof scope === 'string' ? scope : 'openid');
  if (existing === undefined || grant.getOIDCScope() !== granted) await grant.save();
  return grant;
}

function nowSeconds(): number {
  return Math.floor(Date.now() / 1000);
}

/** The library adds the hashes of its own scripts, which submit a form. */
const PROVIDER_PAGE_POLICY = `default-src 'none'; style-src ${PAGE_STYLE_SOURCE}; script-src; base-uri 'none'; frame-ancestors 'none'`;

const ADVICE: Readonly<Record<string, string>> = {
  invalid_client: 'The application is not known here. Ask the operator whether it was removed.',
  invalid_redirect_uri:
    'The application wants to return to an address that is not registered for it. Ask its operator to correct the redirect URI.',
  session_not_found: 'This login is over, or began in another browser. Open the application again.',
};

/** Errors that no application can be told about. */
function renderError(ctx: KoaContextWithOIDC, { error, error_description: description }: ErrorOut): void {
  const advice = ADVICE[error] ?? 'Open the application again. If this repeats, tell its operator.';
  const details = description === undefined ? '' : ` (${description})`;
  ctx.type = 'html';
  ctx.body = plainPage({
    title: 'This login cannot go on',
    body: `<p>${escapedHtml(advice)}</p>${linkButton('My account', '/account')}`,
    footer: `<code>${escapedHtml(error)}</code>${escapedHtml(details)}`,
  });
}

interface ErrorOut {
  readonly error: string;
  readonly error_description?: string | undefined;
}

/** Asks before it ends the session: an application, or a page that links here, must not decide that alone. */
function logoutPage(ctx: KoaContextWithOIDC, form: string): void {
  ctx.body = plainPage({
    title: 'Log out?',
    body: `${form}<p>This logs you out of this browser, and of everything that you opened with this login.</p>
<p><button class="button" form="op.logoutForm" name="logout" value="yes" autofocus>Log out</button>
<button class="button" form="op.logoutForm">Stay logged in</button></p>`,
  });
}

function loggedOutPage(ctx: KoaContextWithOIDC): void {
  ctx.body = plainPage({
    title: 'Logged out',
    body: `<p>You can close this page.</p>${linkButton('Log in', '/sign-in')}`,
  });
}
