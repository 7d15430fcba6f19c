import type { ProviderDefinition } from '../provider-definition.ts';
import { userOf } from './user-claims.ts';

export const gitlab: ProviderDefinition = {
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
