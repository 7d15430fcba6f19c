/** The identity host as passkeys know it. */
export interface RelyingParty {
  /** `https://` and the setting `identity_host`: the only origin whose answers count. */
  readonly origin: string;
  /** Without the port: passkeys belong to this name and to none below or above it. */
  readonly hostname: string;
}

/** EdDSA, ES256 and RS256: every authenticator has one of them. */
export const PASSKEY_ALGORITHMS = [-8, -7, -257];

/** How long a browser waits for the person. */
export const CEREMONY_TIMEOUT_MS = 5 * 60_000;

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
 * - `disabled`: the account may not log in;
 * - `not_enough`: the inviter of the person could not give what the person may do now;
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
  | 'not_enough'
  | 'other_account';

/** WebAuthn §6.1: 32 bytes of hash, then the flags. */
const FLAGS_AT = 32;
const USER_VERIFIED = 0x04;

/** Whether the device says that it verified the person, by a PIN, a finger or a face. */
export function isUserVerified(authenticatorData: Uint8Array): boolean {
  return ((authenticatorData[FLAGS_AT] ?? 0) & USER_VERIFIED) !== 0;
}
