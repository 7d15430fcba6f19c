import { isJsonObject } from '../../../lib/json.ts';
import type { ProviderDefinition } from '../provider-definition.ts';
import { textOf, userOf } from './user-claims.ts';

export const twitch: ProviderDefinition = {
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
