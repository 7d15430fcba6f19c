/** WebAuthn §6.1: 32 bytes of hash, then the flags. */
const FLAGS_AT = 32;
const USER_VERIFIED = 0x04;

/** Whether the device says that it verified the person, by a PIN, a finger or a face. */
export function isUserVerified(authenticatorData: Uint8Array): boolean {
  return ((authenticatorData[FLAGS_AT] ?? 0) & USER_VERIFIED) !== 0;
}
