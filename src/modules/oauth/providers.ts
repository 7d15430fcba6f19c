import { isJsonObject, type JsonObject, type JsonValue } from '../../kit/json.ts';
import { LoginProblem } from '../login/provider/login-problem.ts';
import type { OauthUser, ProviderApi, ProviderDefinition, ProviderName } from './provider-definition.ts';

const MAX_SUBJECT = 255;

/** A user by the provider's own id, which is a text or a number and never changes. */
function userOf(provider: string, id: JsonValue | undefined, claims: JsonObject): OauthUser {
  const subject = typeof id === 'number' ? String(id) : id;
  if (typeof subject !== 'string' || !/^[\x21-\x7e]+$/.test(subject) || subject.length > MAX_SUBJECT) {
    throw new LoginProblem('provider', 'malformed_answer', `${provider} returned a user without a usable id`);
  }
  const known = Object.entries(claims).filter(([, value]) => value !== null && value !== undefined);
  return { subject, claims: { ...Object.fromEntries(known), sub: subject } };
}

function textOf(value: JsonValue | undefined): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

const amazon: ProviderDefinition = {
  name: 'amazon',
  title: 'Amazon',
  endpoints: {
    authorize_url: 'https://www.amazon.com/ap/oa',
    token_url: 'https://api.amazon.com/auth/o2/token',
    api_url: 'https://api.amazon.com',
  },
  scopes: ['profile'],
  emailScopes: ['profile'],
  memberScopes: [],
  isAccountEmailTrusted: true,
  loadUser: async (api) => {
    const user = await api.get('/user/profile');
    return userOf('Amazon', user['user_id'], { name: user['name'] ?? null, email: user['email'] ?? null });
  },
};

const facebook: ProviderDefinition = {
  name: 'facebook',
  title: 'Facebook',
  // Without a version, which would end after two years.
  endpoints: {
    authorize_url: 'https://www.facebook.com/dialog/oauth',
    token_url: 'https://graph.facebook.com/oauth/access_token',
    api_url: 'https://graph.facebook.com',
  },
  scopes: ['email', 'public_profile'],
  emailScopes: ['email'],
  memberScopes: [],
  switchParameters: { auth_type: 'reauthenticate' },
  isAccountEmailTrusted: true,
  loadUser: async (api) => {
    const user = await api.get(`/me?fields=id,name,email&appsecret_proof=${api.secretProof()}`);
    return userOf('Facebook', user['id'], { name: user['name'] ?? null, email: user['email'] ?? null });
  },
};

const HEADERS = { accept: 'application/vnd.github+json', 'x-github-api-version': '2022-11-28' };
const EMAIL_SCOPES = ['user:email', 'user'];
const MEMBER_SCOPES = ['read:org', 'write:org', 'admin:org'];

const github: ProviderDefinition = {
  name: 'github',
  title: 'GitHub',
  endpoints: {
    authorize_url: 'https://github.com/login/oauth/authorize',
    token_url: 'https://github.com/login/oauth/access_token',
    api_url: 'https://api.github.com',
  },
  scopes: ['read:user', 'user:email'],
  emailScopes: EMAIL_SCOPES,
  memberScopes: MEMBER_SCOPES,
  switchParameters: { prompt: 'select_account' },
  loadUser: async (api) => {
    const user = await api.get('/user', HEADERS);
    return userOf('GitHub', user['id'], {
      name: user['name'] ?? null,
      preferred_username: user['login'] ?? null,
      ...(api.hasScope(EMAIL_SCOPES) ? await primaryEmail(api) : {}),
      ...(api.hasScope(MEMBER_SCOPES) ? await memberships(api) : {}),
    });
  },
};

/** The address of `/user` is the public one, which most users hide, and says nothing of its verification. */
async function primaryEmail(api: ProviderApi): Promise<JsonObject> {
  const primary = (await api.list('/user/emails', HEADERS)).find((email) => email['primary'] === true);
  const address = textOf(primary?.['email']);
  return address === null ? {} : { email: address, email_verified: primary?.['verified'] === true };
}

/** Logins and slugs, as in GitHub's URLs; in lower case, because they are compared so there. */
async function memberships(api: ProviderApi): Promise<JsonObject> {
  const organizations = await api.list('/user/orgs', HEADERS);
  const teams = await api.list('/user/teams', HEADERS);
  return {
    organizations: organizations.flatMap(({ login }) => lower(login)),
    teams: teams.flatMap(({ slug, organization }) => {
      const owner = isJsonObject(organization) ? lower(organization['login']) : [];
      return owner.flatMap((name) => lower(slug).map((team) => `${name}/${team}`));
    }),
    team_ids: teams.flatMap(({ id }) => (typeof id === 'number' ? [id] : [])),
  };
}

function lower(value: JsonValue | undefined): readonly string[] {
  return typeof value === 'string' ? [value.toLowerCase()] : [];
}

const gitlab: ProviderDefinition = {
  name: 'gitlab',
  title: 'GitLab',
  endpoints: {
    authorize_url: 'https://gitlab.com/oauth/authorize',
    token_url: 'https://gitlab.com/oauth/token',
    api_url: 'https://gitlab.com',
  },
  scopes: ['openid', 'email', 'profile'],
  emailScopes: ['email'],
  memberScopes: [],
  loadUser: async (api) => {
    const user = await api.get('/oauth/userinfo');
    return userOf('GitLab', user['sub'], { ...user, preferred_username: user['nickname'] ?? null });
  },
};

export const google: ProviderDefinition = {
  name: 'google',
  title: 'Google',
  endpoints: {
    authorize_url: 'https://accounts.google.com/o/oauth2/v2/auth',
    token_url: 'https://oauth2.googleapis.com/token',
    api_url: 'https://openidconnect.googleapis.com/v1',
  },
  scopes: ['openid', 'email', 'profile'],
  emailScopes: ['email', 'https://www.googleapis.com/auth/userinfo.email'],
  memberScopes: [],
  switchParameters: { prompt: 'select_account' },
  // Access tokens last an hour, and only this gives a refresh token.
  recheckParameters: { access_type: 'offline', prompt: 'consent' },
  loadUser: async (api) => {
    const user = await api.get('/userinfo');
    return userOf('Google', user['sub'], user);
  },
};

const linkedin: ProviderDefinition = {
  name: 'linkedin',
  title: 'LinkedIn',
  endpoints: {
    authorize_url: 'https://www.linkedin.com/oauth/v2/authorization',
    token_url: 'https://www.linkedin.com/oauth/v2/accessToken',
    api_url: 'https://api.linkedin.com',
  },
  scopes: ['openid', 'email', 'profile'],
  emailScopes: ['email'],
  memberScopes: [],
  loadUser: async (api) => {
    const user = await api.get('/v2/userinfo');
    return userOf('LinkedIn', user['sub'], user);
  },
};

/** The tenant of personal accounts, whose addresses Microsoft verifies. */
const PERSONAL_ACCOUNTS = '9188040d-6c67-4c5b-b112-36a304b66dad';

/** Documented as a boolean, and seen in these forms. */
const VERIFIED: readonly unknown[] = [true, 'true', 1, '1'];

const microsoft: ProviderDefinition = {
  name: 'microsoft',
  title: 'Microsoft',
  endpoints: {
    authorize_url: 'https://login.microsoftonline.com/common/oauth2/v2.0/authorize',
    token_url: 'https://login.microsoftonline.com/common/oauth2/v2.0/token',
    api_url: 'https://graph.microsoft.com',
  },
  // Access tokens last an hour, and `offline_access` gives a refresh token.
  scopes: ['openid', 'email', 'profile', 'offline_access'],
  emailScopes: ['email'],
  memberScopes: [],
  switchParameters: { prompt: 'select_account' },
  hasIdToken: true,
  loadUser: async ({ idClaims }) => {
    if (idClaims === null) {
      throw new LoginProblem('token', 'id_token_missing', 'Microsoft returned no ID token: request the scope openid');
    }
    const { email_verified: _, ...claims } = idClaims;
    // An administrator of any tenant can give a user any address ("nOAuth", 2023); `xms_edov` says that the domain is
    // theirs.
    const isVerified = claims['tid'] === PERSONAL_ACCOUNTS || VERIFIED.includes(claims['xms_edov']);
    return userOf('Microsoft', claims['sub'], { ...claims, email_verified: isVerified });
  },
};

const twitch: ProviderDefinition = {
  name: 'twitch',
  title: 'Twitch',
  endpoints: {
    authorize_url: 'https://id.twitch.tv/oauth2/authorize',
    token_url: 'https://id.twitch.tv/oauth2/token',
    api_url: 'https://api.twitch.tv/helix',
  },
  scopes: ['user:read:email'],
  emailScopes: ['user:read:email'],
  memberScopes: [],
  switchParameters: { force_verify: 'true' },
  loadUser: async (api) => {
    const { data } = await api.get('/users', { 'client-id': api.clientId });
    const user = Array.isArray(data) && data.length === 1 && isJsonObject(data[0]) ? data[0] : {};
    const email = textOf(user['email']);
    return userOf('Twitch', user['id'], {
      name: user['display_name'] ?? null,
      preferred_username: user['login'] ?? null,
      email,
      // Documented: only a verified address is returned.
      email_verified: email === null ? null : true,
    });
  },
};

export const providerDefinitions: Readonly<Record<ProviderName, ProviderDefinition>> = {
  amazon,
  facebook,
  github,
  gitlab,
  google,
  linkedin,
  microsoft,
  twitch,
};
