import { LoginProblem } from '../../login/provider/login-problem.ts';
import type { ProviderDefinition } from '../provider-definition.ts';
import { userOf } from './user-claims.ts';

/** The tenant of personal accounts, whose addresses Microsoft verifies. */
const PERSONAL_ACCOUNTS = '9188040d-6c67-4c5b-b112-36a304b66dad';

/** Documented as a boolean, and seen in these forms. */
const VERIFIED: readonly unknown[] = [true, 'true', 1, '1'];

export const microsoft: ProviderDefinition = {
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
    // An administrator of any tenant can give a user any address ("nOAuth", 2023); `xms_edov` says that the domain is theirs.
    const isVerified = claims['tid'] === PERSONAL_ACCOUNTS || VERIFIED.includes(claims['xms_edov']);
    return userOf('Microsoft', claims['sub'], { ...claims, email_verified: isVerified });
  },
};
