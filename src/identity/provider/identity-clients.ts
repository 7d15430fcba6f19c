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
  /** An agent publishes it; null: an administrator decided who may learn about people. */
  readonly agent: PublishingAgent | null;
}

/** The holder of a credential can publish any free address: people decide whether its service learns who they are. */
export interface PublishingAgent {
  readonly host: string;
  readonly credentialId: string;
  /** What an administrator wrote about the credential; perhaps empty. */
  readonly description: string;
}

/** Applications as they are configured now. */
export interface IdentityClients {
  /** `askedUris`: what the request wants to return to. A client of a route has as many addresses as its wildcard has hosts. */
  find(clientId: string, askedUris: readonly string[]): IdentityClient | null;
}
