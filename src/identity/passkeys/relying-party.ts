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
