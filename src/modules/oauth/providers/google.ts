import type { ProviderDefinition } from '../provider-definition.ts';
import { userOf } from './user-claims.ts';

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
