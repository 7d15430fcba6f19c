import { errorTable } from '../../kit/errors.ts';

/** Errors of routes with a login at an OAuth provider. */
export const oauthErrors = errorTable({
  ERR_POSTERN_OAUTH_DENIED: {
    status: 403,
    explanation:
      'The person is logged in, but no rule of the oauth module (email addresses, domains, teams, organizations) matches the account.',
  },
});
