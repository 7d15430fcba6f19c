import { errorTable } from '../../kit/errors.ts';

export const consoleErrors = errorTable({
  ERR_POSTERN_CONSOLE_NOT_BUILT: {
    status: 503,
    explanation:
      'The page of the console has not been built. Run "npm ci" and "npm run build:console" in the checkout; packages and executables contain it.',
  },
  ERR_POSTERN_CONSOLE_ORIGIN: {
    status: 403,
    explanation:
      "A request with a session of the console came under a name that is not this server's, or from a page of another origin. Open the console at the base URL, or set api_url to the address that browsers use.",
  },
  ERR_POSTERN_CONSOLE_SESSION: {
    status: 401,
    explanation:
      'The session of the console has ended (logged out, revoked, too old, or its API key was deleted or changed), or the request lacks its cookie or its token. Log in again.',
  },
  ERR_POSTERN_CONSOLE_LOGIN: {
    status: 403,
    explanation:
      'A login to the console with OpenID Connect was denied by the provider, was started in another browser, or took longer than ten minutes. Log in again.',
  },
  ERR_POSTERN_CONSOLE_NO_PROVIDER: {
    status: 404,
    explanation: 'The console has no OpenID provider. Log in with an API key, or set console_oidc_issuer.',
  },
  ERR_POSTERN_CONSOLE_NO_ROLE: {
    status: 403,
    explanation: 'No rule in console_roles gives this person a role in the console. Add one that matches a claim.',
  },
  ERR_POSTERN_CONSOLE_PASSKEY: {
    status: 403,
    explanation:
      'The console requires a passkey, and the person logged in at the identity host with a code by e-mail. Log out there, then log in with a passkey.',
  },
  ERR_POSTERN_CONSOLE_PROVIDER: {
    status: 502,
    explanation:
      'The OpenID provider of the console does not respond, or its settings do not fit. The log of the server says why. An API key works meanwhile.',
  },
  ERR_POSTERN_CONSOLE_LINK: {
    status: 403,
    explanation:
      'A link that logs in to the console was used already, is older than ten minutes, had five wrong codes, or was opened from another site. Make a new one with "postern open".',
  },
  ERR_POSTERN_CONSOLE_SIGN_IN: {
    status: 401,
    explanation: 'The API key of a login to the console is not known. Check that it is complete.',
  },
});
