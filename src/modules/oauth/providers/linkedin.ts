import type { ProviderDefinition } from '../provider-definition.ts';
import { userOf } from './user-claims.ts';

export const linkedin: ProviderDefinition = {
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
