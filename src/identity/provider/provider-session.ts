import { hash } from 'node:crypto';
import type { JsonObject } from '../../lib/json.ts';

/** The provider's session, as it is stored. */
export interface ProviderSession {
  readonly kind: 'Session';
  /** Value of the browser's cookie; another one after each sign-in. */
  readonly jti: string;
  /** The same for the life of the session. */
  readonly uid: string;
  readonly accountId: string;
  /** Seconds since 1970, like all times of the library. */
  readonly iat: number;
  readonly exp: number;
  readonly loginTs: number;
  readonly amr: readonly string[];
  readonly authorizations?: Readonly<Record<string, { readonly sid?: string; readonly grantId?: string }>>;
}

export function providerSession(payload: JsonObject): ProviderSession {
  return payload as unknown as ProviderSession;
}

/** `sid` in the tokens of all applications that a session logs in to: its logins end with one query. */
export function providerSessionId(sessionUid: string): string {
  return hash('sha256', `sid:${sessionUid}`, 'base64url').slice(0, 22);
}
