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
  /**
   * Host header for the upstream: `preserve` the visitor's, `rewrite` to that of the target, or a host. Absent: as it
   * is.
   */
  readonly hostHeader?: string;
  /** A link that lets guests in, for a new route only. */
  readonly guests?: WantedGuests;
}

export type WantedTarget =
  | { readonly kind: 'address'; readonly address: string; readonly hasTls: boolean }
  | { readonly kind: 'backend'; readonly id: string }
  /** Absolute, on the machine of the server. */
  | { readonly kind: 'folder'; readonly folder: string }
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

/**
 * `127.0.0.1:3000`, `3000`, `http://web:8080` or `https://web`; null: the text is no address. A password is no part of
 * one.
 */
export function readTarget(text: string): Extract<WantedTarget, { kind: 'address' }> | null {
  if (/^\d{1,5}$/.test(text)) return addressTarget(`127.0.0.1:${text}`, false);
  const [, scheme = 'http', rest = ''] = /^(?:(https?):\/\/)?([^/\s@?#\\]+)\/?$/.exec(text) ?? [];
  const hasPort = /:\d{1,5}$/.test(rest);
  if (rest === '' || (!hasPort && !text.includes('://'))) return null;
  const port = scheme === 'https' ? 443 : 80;
  return addressTarget(hasPort ? rest : `${rest}:${port}`, scheme === 'https');
}

/** `/srv/www`; null: the text is no absolute path. */
export function readFolder(text: string): Extract<WantedTarget, { kind: 'folder' }> | null {
  if (!/^\/(?!\/)/.test(text)) return null;
  return { kind: 'folder', folder: text.length > 1 && text.endsWith('/') ? text.slice(0, -1) : text };
}

function addressTarget(address: string, hasTls: boolean): ReturnType<typeof readTarget> {
  // Port 0 is no address, and larger ones than 65535 are none of a URL.
  return /:0+$/.test(address) || !URL.canParse(`http://${address}`) ? null : { kind: 'address', address, hasTls };
}
