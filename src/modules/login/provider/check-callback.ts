import { foreignText, LoginProblem } from './login-problem.ts';

const PARAMETERS = ['code', 'state', 'iss', 'error', 'error_description'] as const;

export interface CallbackExpectations {
  readonly issuer: string;
  readonly isIssuerAnnounced: boolean;
  readonly state: string;
}

/**
 * Checks the callback before anything is sent to the provider; returns the code. The order matters: an error is trusted
 * only from the right provider (RFC 9207) and for the right login (`state`).
 */
export function checkCallback(query: URLSearchParams, expected: CallbackExpectations): string {
  for (const name of PARAMETERS) {
    if (query.getAll(name).length > 1) {
      throw new LoginProblem('provider', 'callback_malformed', `the callback has more than one "${name}"`);
    }
  }
  const issuer = query.get('iss');
  if (issuer === null ? expected.isIssuerAnnounced : issuer !== expected.issuer) {
    throw new LoginProblem(
      'provider',
      'callback_issuer',
      `the callback is not from ${expected.issuer}: its "iss" is ${issuer === null ? 'missing' : 'another'}`,
    );
  }
  if (query.get('state') !== expected.state) {
    throw new LoginProblem('provider', 'callback_state', 'the "state" of the callback does not match this login');
  }
  const error = query.get('error');
  if (error !== null) throw callbackError(error, query.get('error_description'));
  const code = query.get('code');
  if (code !== null && code !== '') return code;
  throw new LoginProblem('provider', 'callback_malformed', 'the callback has neither "code" nor "error"');
}

function callbackError(error: string, description: string | null): LoginProblem {
  const words = description === null ? '' : ` (${foreignText(description)})`;
  return error === 'access_denied'
    ? new LoginProblem('denied', 'access_denied', `the provider denied access${words}`)
    : new LoginProblem('provider', 'callback_error', `the provider returned "${foreignText(error)}"${words}`);
}
