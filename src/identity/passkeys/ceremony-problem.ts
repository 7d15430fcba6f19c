/**
 * Why a passkey's answer was refused:
 * - `malformed`: it is not an answer of a browser;
 * - `unknown`: no account has this passkey;
 * - `foreign`: it is for another site, page, browser, account or purpose;
 * - `expired`: it came too late; `replayed`: it was used before;
 * - `unverified`: the device did not verify the person;
 * - `invalid`: the signature or the data is wrong;
 * - `cloned`: the authenticator's counter went back;
 * - `not_discoverable`: the device did not store the passkey;
 * - `disabled`: the account may not sign in;
 * - `other_account`: the passkey belongs to somebody else than the session.
 */
export type CeremonyProblem =
  | 'malformed'
  | 'unknown'
  | 'foreign'
  | 'expired'
  | 'replayed'
  | 'unverified'
  | 'invalid'
  | 'cloned'
  | 'not_discoverable'
  | 'disabled'
  | 'other_account';
