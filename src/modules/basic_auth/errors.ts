import { errorTable } from '../../kit/errors.ts';

/** Errors of routes with passwords. */
export const basicAuthErrors = errorTable({
  ERR_POSTERN_PASSWORD_REQUIRED: {
    status: 401,
    explanation:
      'The route requires a user name and a password (basic_auth), and the request has none, or not the right ones. Send them as RFC 7617 says, once, in UTF-8.',
  },
  ERR_POSTERN_PASSWORD_RATE_LIMITED: {
    status: 429,
    explanation:
      'Too many wrong passwords were sent from one address or network, or for one user name (password_attempts_per_address, password_attempts_per_user). Retry after the time in Retry-After.',
  },
  ERR_POSTERN_PASSWORD_BUSY: {
    status: 503,
    explanation:
      'The server checks as many passwords as it can at the moment. Requests with a password that was right before are not affected. Retry after the time in Retry-After.',
  },
});
