import type { Refusal } from '../contract/decides.ts';
import type { TooManyAttempts } from '../login/flow/login-attempts.ts';

const BUSY_RETRY_SECONDS = 2;

/** Why somebody has to send a password. Visitors see the same for a wrong name and a wrong password. */
export type ClosedReason =
  | 'no_password'
  | 'password_malformed'
  | 'password_wrong'
  | 'password_unknown'
  | 'no_such_user';

const MESSAGES: Readonly<Record<ClosedReason, string>> = {
  no_password: 'This site requires a user name and a password.',
  password_malformed:
    'The user name and password cannot be read. Send one Authorization header with "Basic" and the base64 of "name:password" in UTF-8.',
  password_wrong: 'The user name or the password is wrong.',
  // For explanations, and for paths of the server itself.
  password_unknown: 'The user name and the password are not known to be right: nothing compares passwords here.',
  no_such_user: 'The person has no user name here: a claim "username" names one of the users.',
};

/** RFC 7617 §2.1: `charset` tells browsers to send UTF-8. */
export function closed(realm: string): Readonly<Record<ClosedReason, Refusal>> {
  const challenge = `Basic realm="${realm.replaceAll(/["\\]/g, '\\$&')}", charset="UTF-8"`;
  const refusal = (reason: ClosedReason): Refusal => ({
    status: 401,
    code: 'ERR_POSTERN_PASSWORD_REQUIRED',
    title: 'A password is required',
    message: MESSAGES[reason],
    reason,
    headers: ['www-authenticate', challenge],
  });
  return {
    no_password: refusal('no_password'),
    password_malformed: refusal('password_malformed'),
    password_wrong: refusal('password_wrong'),
    password_unknown: refusal('password_unknown'),
    no_such_user: refusal('no_such_user'),
  };
}

/** Without a challenge: a browser would send the password where everybody can read it. */
export const NOT_ENCRYPTED: Refusal = {
  status: 401,
  code: 'ERR_POSTERN_PASSWORD_REQUIRED',
  title: 'A password is required',
  message: 'This site requires a password, which must not be sent over plain HTTP. Use https.',
  reason: 'not_encrypted',
};

export function passwordsLimited({ limit, retryAfterSeconds }: TooManyAttempts): Refusal {
  const cause = limit === 'address' ? 'from your address or network' : 'for this user name';
  return {
    status: 429,
    code: 'ERR_POSTERN_PASSWORD_RATE_LIMITED',
    title: 'Too many wrong passwords',
    message: `Too many wrong passwords were sent ${cause}. Try again in ${retryAfterSeconds} s.`,
    reason: limit === 'address' ? 'attempts_address' : 'attempts_user',
    headers: ['retry-after', String(retryAfterSeconds)],
  };
}

export function passwordBusy(): Refusal {
  return {
    status: 503,
    code: 'ERR_POSTERN_PASSWORD_BUSY',
    title: 'Passwords cannot be checked at the moment',
    message: `The server is checking many passwords. Try again in ${BUSY_RETRY_SECONDS} s.`,
    reason: 'busy',
    headers: ['retry-after', String(BUSY_RETRY_SECONDS)],
  };
}
