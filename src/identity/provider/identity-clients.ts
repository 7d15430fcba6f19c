import type { ClientMetadata } from 'oidc-provider';

/** An application that people log in to at the identity host. */
export interface IdentityClient {
  /** As people know it. */
  readonly name: string;
  /** `client_secret` is a hash: see `hashToken`. */
  readonly metadata: ClientMetadata;
  /** Whether these groups of a person let them in. */
  admits(groups: readonly string[]): boolean;
  /** It hears of the end of sessions there (OpenID Connect Back-Channel Logout 1.0). */
  readonly backChannelLogoutUri: string | null;
}

/** Applications as they are configured now. */
export interface IdentityClients {
  /** `askedUris`: what the request wants to return to. A client of a route has as many addresses as its wildcard has hosts. */
  find(clientId: string, askedUris: readonly string[]): IdentityClient | null;
}
