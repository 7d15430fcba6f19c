/**
 * Signatures that only the provider can make. `none` and the HS family are excluded: with the latter, a holder of the
 * client's secret could sign, or anybody could against a verifier that takes a public key for one.
 */
export const SIGNING_ALGORITHMS: readonly string[] = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];
