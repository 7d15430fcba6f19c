import { errorTable } from '../../lib/errors.ts';

/** Errors of routes with login. */
export const loginErrors = errorTable({
  ERR_POSTERN_LOGIN_REQUIRED: {
    status: 401,
    explanation:
      'The route lets only those through who have logged in. Log in at the URL that the answer names, then try again.',
  },
  ERR_POSTERN_LOGIN_DENIED: {
    status: 403,
    explanation: 'The login was refused at the identity provider, by the user or by its rules.',
  },
  ERR_POSTERN_LOGIN_FAILED: {
    status: 502,
    explanation:
      'The identity provider answered a login with something that cannot be trusted or used. The log says what, under the request id.',
  },
  ERR_POSTERN_PROVIDER_UNAVAILABLE: {
    status: 502,
    explanation:
      'The identity provider cannot be reached. Those who are logged in go on; new logins have to wait until it is back.',
  },
  ERR_POSTERN_LOGIN_RATE_LIMITED: {
    status: 429,
    explanation:
      'Too many logins from one address or network failed at the identity provider within a minute (login_attempts_per_address). The answer says in Retry-After when to try again.',
  },
  ERR_POSTERN_LOGIN_BUSY: {
    status: 503,
    explanation:
      'Too many logins failed at one identity provider within a minute (login_attempts_per_issuer). The answer says in Retry-After when to try again.',
  },
  ERR_POSTERN_LOGIN_UNAVAILABLE: {
    status: 503,
    explanation:
      'The store of logins cannot be read or written at the moment: the database is away, or its disk is full. Nothing was changed. Users whose login is in memory go on.',
  },
  ERR_POSTERN_LOGIN_COOKIES: {
    status: 400,
    explanation: 'The browser does not send back the cookies that a login needs. Allow cookies for the site.',
  },
  ERR_POSTERN_LOGIN_LOOP: {
    status: 400,
    explanation:
      'The browser logged in several times within a minute and came back without a valid session each time: its session cookie is refused, the session ends at once, or a clock is wrong.',
  },
  ERR_POSTERN_LOGOUT_TOKEN: {
    status: 400,
    explanation: 'A back-channel logout came with a token that cannot be trusted, or that was used before.',
  },
  ERR_POSTERN_NO_OWN_PATH: {
    status: 404,
    explanation: 'Paths under /.postern/ belong to Postern on hosts with login, and there is nothing at this one.',
  },
});
