import type { ProviderDefinition } from '../provider-definition.ts';
import { userOf } from './user-claims.ts';

export const amazon: ProviderDefinition = {
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
