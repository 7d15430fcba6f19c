import type { ProviderDefinition } from '../provider-definition.ts';
import { userOf } from './user-claims.ts';

export const facebook: ProviderDefinition = {
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
