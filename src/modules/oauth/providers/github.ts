import { isJsonObject, type JsonObject, type JsonValue } from '../../../lib/json.ts';
import type { ProviderApi } from '../provider-api.ts';
import type { ProviderDefinition } from '../provider-definition.ts';
import { textOf, userOf } from './user-claims.ts';

const HEADERS = { accept: 'application/vnd.github+json', 'x-github-api-version': '2022-11-28' };
const EMAIL_SCOPES = ['user:email', 'user'];
const MEMBER_SCOPES = ['read:org', 'write:org', 'admin:org'];

export const github: ProviderDefinition = {
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
