import { errorTable } from '../../kit/errors.ts';

/** Errors of the identity host. */
export const identityErrors = errorTable({
  ERR_POSTERN_IDENTITY_CROSS_SITE: {
    status: 403,
    explanation:
      'The request to the identity host does not come from one of its own pages. Open the page again in a current browser, and use the button there.',
  },
  ERR_POSTERN_IDENTITY_COOKIES: {
    status: 400,
    explanation: 'The browser does not send the cookies that logging in requires. Allow cookies for the identity host.',
  },
  ERR_POSTERN_IDENTITY_PASSKEY: {
    status: 403,
    explanation:
      'The passkey was not accepted. The page says why: it is unknown, belongs to another account, was not protected by a PIN, finger or face, answered too late or twice, or may have been copied.',
  },
  ERR_POSTERN_IDENTITY_INVITATION: {
    status: 410,
    explanation:
      'The invitation does not work: it was used, has expired, was replaced by a newer one, or its address is incomplete. An administrator makes a new one (`postern users invite`).',
  },
  ERR_POSTERN_IDENTITY_SESSION: {
    status: 401,
    explanation: 'Nobody is logged in at the identity host with this browser, or the session has ended. Log in again.',
  },
  ERR_POSTERN_IDENTITY_CONFIRM: {
    status: 403,
    explanation:
      'Adding or removing a passkey requires a passkey that was used within the last five minutes. Confirm with a passkey on the account page, and try again.',
  },
  ERR_POSTERN_IDENTITY_LAST_PASSKEY: {
    status: 409,
    explanation: 'The last passkey of an account cannot be removed by its owner. Add another one first.',
  },
  ERR_POSTERN_IDENTITY_CHANGE_PENDING: {
    status: 409,
    explanation:
      'A change that waits for its confirmation concerns the passkey. Try again when it is confirmed or reverted (`postern confirm`, `POST /changes/{revision}/revert`).',
  },
  ERR_POSTERN_IDENTITY_CODE: {
    status: 403,
    explanation:
      'The code from the e-mail is wrong, was used, has expired, or was asked for with another browser. Ask for a new one on the login page.',
  },
  ERR_POSTERN_IDENTITY_RATE_LIMITED: {
    status: 429,
    explanation:
      'Too many attempts to log in from one address or network failed within a minute. Retry after the time in Retry-After.',
  },
  ERR_POSTERN_IDENTITY_REQUEST_OVER: {
    status: 400,
    explanation:
      'The application that asked for the login no longer waits for it, or asked in another browser. Open the application again.',
  },
  ERR_POSTERN_IDENTITY_NOT_FOUND: {
    status: 404,
    explanation: 'The identity host has no such page. Check the address.',
  },
  ERR_POSTERN_IDENTITY_METHOD: {
    status: 405,
    explanation:
      'The address at the identity host answers another method: see Allow. Open the page again, and use the button there.',
  },
  ERR_POSTERN_IDENTITY_UNAVAILABLE: {
    status: 503,
    explanation:
      'The store cannot be read or written at the moment: the database is unavailable, or its disk is full. Nothing was changed. Try again after the time in Retry-After.',
  },
});
