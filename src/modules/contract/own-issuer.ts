import type { GuardedFetch } from '../../kit/http/guarded-fetch.ts';
import type { JsonObject } from '../../kit/json.ts';

/** Postern's own OpenID provider, as logins at it see it. */
export interface OwnIssuer {
  readonly issuer: string;
  /** Requests to it, which stay in the process. */
  readonly fetch: GuardedFetch;
  /** The secret of a client that is derived from an edge. */
  clientSecretOf(clientId: string): string;
  /** What is known about a person now, from memory; null: they may not be logged in. */
  personOf(subject: string): OwnPerson | null;
}

export interface OwnPerson {
  /** Changes when the claims change. */
  readonly revision: number;
  readonly claims: JsonObject;
}

/** Issuer of Postern's own OpenID provider; null: it is off. `settings`: see `SharedRuntime.readsSettings`. */
export function ownIssuerOf(settings: object): string | null {
  const { identity_host: host } = settings as { readonly identity_host?: string | null };
  return host == null ? null : `https://${host}`;
}

/** The problem with another spelling of our own issuer: its tokens name it in one way, and comparisons are exact. */
export function otherSpelling(issuer: string, own: string | null): string | null {
  if (own === null || issuer === own) return null;
  if (hostOf(issuer) !== hostOf(own)) return null;
  return `must be exactly "${own}": that is the issuer of this server's identity host (identity_host)`;
}

function hostOf(url: string): string {
  return new URL(url).hostname.replace(/\.$/, '');
}
