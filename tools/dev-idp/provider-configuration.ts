import type { Configuration, JWK, KoaContextWithOIDC } from 'oidc-provider';
import type { MemoryStorage } from './memory-storage.ts';
import { logoutPage, messagePage, PAGE_POLICY } from './pages.ts';
import type { TestUser } from './test-users.ts';

/**
 * When a client gets a refresh token: with the scope offline_access, which counts only together with prompt=consent
 * (OpenID Connect Core §11); always, like providers that tie it to the app's settings; or never.
 */
export type RefreshTokens = 'offline_access' | 'always' | 'never';

export interface ProviderSettings {
  readonly storage: MemoryStorage;
  readonly keys: readonly JWK[];
  readonly cookieKey: string;
  /** Browsers do not separate cookies by port, and several providers may run on one address. */
  readonly cookieSuffix: string;
  readonly users: () => readonly TestUser[];
  readonly fetch: typeof fetch;
  readonly accessTokenTtlS: number;
  readonly refreshTokens: RefreshTokens;
}

const PROFILE_CLAIMS = ['name', 'given_name', 'family_name', 'preferred_username', 'picture', 'groups'];

const HOUR_S = 3600;
const FORTNIGHT_S = 14 * 24 * HOUR_S;
export const SCOPES = ['openid', 'email', 'profile', 'offline_access'];

export function providerConfiguration(settings: ProviderSettings): Configuration {
  const { cookieSuffix: suffix } = settings;
  return {
    adapter: (model) => settings.storage.adapter(model),
    jwks: { keys: [...settings.keys] },
    fetch: settings.fetch,
    clockTolerance: 0,
    cookies: {
      keys: [settings.cookieKey],
      names: { session: `_session_${suffix}`, interaction: `_interaction_${suffix}`, resume: `_resume_${suffix}` },
    },
    scopes: SCOPES,
    claims: {
      openid: ['sub'],
      email: ['email', 'email_verified'],
      profile: [
        ...new Set([...PROFILE_CLAIMS, ...settings.users().flatMap(({ claims }) => Object.keys(claims))]),
      ].filter((name) => !name.startsWith('email')),
    },
    // In the ID token too, as most providers do.
    conformIdTokenClaims: false,
    responseTypes: ['code'],
    clientDefaults: { grant_types: ['authorization_code', 'refresh_token'] },
    clientBasedCORS: () => false,
    pkce: { required: () => true },
    rotateRefreshToken: true,
    issueRefreshToken: async (_ctx, client, source) =>
      client.grantTypeAllowed('refresh_token') &&
      (settings.refreshTokens === 'always' ||
        (settings.refreshTokens === 'offline_access' && source.scopes.has('offline_access'))),
    ttl: {
      AccessToken: settings.accessTokenTtlS,
      // Longer than anybody needs: tests restart servers between a login here and its end at the edge.
      AuthorizationCode: HOUR_S,
      IdToken: HOUR_S,
      Interaction: HOUR_S,
      Session: FORTNIGHT_S,
      Grant: FORTNIGHT_S,
      RefreshToken: FORTNIGHT_S,
    },
    features: {
      devInteractions: { enabled: false },
      backchannelLogout: { enabled: true },
      rpInitiatedLogout: {
        enabled: true,
        logoutSource: async (ctx, form) => show(ctx, logoutPage(form)),
        postLogoutSuccessSource: async (ctx) => show(ctx, messagePage('Logged out', ['You can close this page.'])),
      },
    },
    interactions: { url: async (_ctx, interaction) => `/interaction/${interaction.uid}` },
    loadExistingGrant: grantWithoutAsking,
    findAccount: async (_ctx, id) => {
      const user = settings.users().find((one) => one.id === id);
      return user && { accountId: id, claims: async () => ({ ...user.claims, sub: id }) };
    },
    renderError: async (ctx, out) => {
      const lines = [out.error, out.error_description].filter((text) => text !== undefined);
      show(ctx, messagePage('That did not work', lines));
    },
  };
}

function show(ctx: KoaContextWithOIDC, html: string): void {
  ctx.type = 'html';
  ctx.set('content-security-policy', PAGE_POLICY);
  ctx.body = html;
}

/** Users of a test provider agree to everything. */
async function grantWithoutAsking(ctx: KoaContextWithOIDC) {
  const { client, session, result, provider } = ctx.oidc;
  const { Grant } = provider;
  if (client === undefined || session?.accountId === undefined) return undefined;
  const grantId = result?.consent?.grantId ?? session.grantIdFor(client.clientId);
  const known = grantId === undefined ? undefined : await Grant.find(grantId);
  if (known !== undefined) return known;
  const grant = new Grant({ clientId: client.clientId, accountId: session.accountId });
  grant.addOIDCScope(SCOPES.join(' '));
  await grant.save();
  return grant;
}
