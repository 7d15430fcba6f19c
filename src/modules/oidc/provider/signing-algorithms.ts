/**
 * Signatures that only the provider can make. `none` and the HS family are not among them: with the latter, whoever holds the
 * client's secret, or a verifier that takes a public key for one, could sign.
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
