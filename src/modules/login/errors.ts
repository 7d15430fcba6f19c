import { errorTable } from '../../kit/errors.ts';

/** Errors of routes with login. */
export const loginErrors = errorTable({
  ERR_POSTERN_LOGIN_REQUIRED: {
    status: 401,
    explanation: 'The route requires a login. Log in at the URL in the response, then retry.',
  },
  ERR_POSTERN_LOGIN_DENIED: {
    status: 403,
    explanation: 'The identity provider or the person denied the login.',
  },
  ERR_POSTERN_LOGIN_FAILED: {
    status: 502,
    explanation:
      'The identity provider sent a response that is invalid or cannot be trusted. The log has the details under the request id.',
  },
  ERR_POSTERN_PROVIDER_UNAVAILABLE: {
    status: 502,
    explanation:
      'The identity provider cannot be reached. Existing logins continue to work; new logins fail until it is back.',
  },
  ERR_POSTERN_LOGIN_RATE_LIMITED: {
    status: 429,
    explanation:
      'Too many logins from one address or network failed at the identity provider within a minute (login_attempts_per_address). Retry after the time in Retry-After.',
  },
  ERR_POSTERN_LOGIN_BUSY: {
    status: 503,
    explanation:
      'Too many logins failed at one identity provider within a minute (login_attempts_per_issuer). Retry after the time in Retry-After.',
  },
  ERR_POSTERN_LOGIN_UNAVAILABLE: {
    status: 503,
    explanation:
      'The login store cannot be read or written at the moment: the database is unavailable, or its disk is full. Nothing was changed. People whose login is in memory are not affected.',
  },
  ERR_POSTERN_LOGIN_COOKIES: {
    status: 400,
    explanation: 'The browser does not send the cookies that a login requires. Allow cookies for the site.',
  },
  ERR_POSTERN_LOGIN_LOOP: {
    status: 400,
    explanation:
      'The browser logged in several times within a minute and returned without a valid session each time: it rejects the session cookie, the session expires immediately, or a clock is wrong.',
  },
  ERR_POSTERN_LOGOUT_TOKEN: {
    status: 400,
    explanation: 'A back-channel logout has a token that cannot be trusted or was used before.',
  },
  ERR_POSTERN_NO_OWN_PATH: {
    status: 404,
    explanation:
      'Paths under /.postern/ are reserved for Postern on hosts with login or access rules, and this path or method does not exist there.',
  },
});
