/** A site to publish, as `postern edge`, `postern up` and the console describe it. */
export interface WantedEdge extends WantedPeople {
  readonly host: string;
  /** Null: as it is, or that of the listener for a new edge. */
  readonly port: number | null;
  readonly listenerPort: number;
  readonly path: string;
  readonly target: WantedTarget;
  readonly login: WantedLogin | null;
  /** Ranges of addresses that may enter; absent: all, or as it is. */
  readonly addresses?: readonly string[];
  /** Names and passwords that let people in; an empty password keeps the one that is stored for the name. */
  readonly passwords?: readonly WantedPassword[];
  /** Host header for the upstream: `preserve` the visitor's, `rewrite` to that of the target, or a host. Absent: as it is. */
  readonly hostHeader?: string;
  /** A link that lets guests in, for a new route only. */
  readonly guests?: WantedGuests;
}

export type WantedTarget =
  | { readonly kind: 'address'; readonly address: string; readonly hasTls: boolean }
  | { readonly kind: 'backend'; readonly id: string }
  | { readonly kind: 'agents'; readonly labels: Readonly<Record<string, string>> }
  | { readonly kind: 'page'; readonly status: number; readonly contentType: string; readonly body: string };

export interface WantedPassword {
  readonly username: string;
  readonly password: string;
}

export interface WantedGuests {
  readonly label: string;
  /** In RFC 3339 format. */
  readonly expiresAt: string;
  readonly maxBrowsers: number;
}

export interface WantedLogin {
  readonly issuer: string;
  /** Empty: the edge's own client at the server's identity host. */
  readonly clientId: string;
  /** Null: keep the stored one. */
  readonly clientSecret: string | null;
  /** What a new login asks another provider for; absent: the usual ones. */
  readonly scopes?: readonly string[];
}

/** Whom the rules let in. Each list says "only", so a person must be in all that are not empty. */
export interface WantedPeople {
  readonly emails: readonly string[];
  readonly emailDomains: readonly string[];
  readonly groups: readonly string[];
}
