import { signal } from '@preact/signals';

const STORED_AS = 'postern-console-token';

export interface Session {
  readonly id?: string;
  readonly who: { readonly name: string; readonly kind: 'key' | 'person' };
  readonly scopes: readonly string[];
  readonly role?: string;
  readonly expires_at: string;
  /** Where people log in; null: this server has no identity host. */
  readonly identity_issuer?: string | null;
}

/** undefined: not asked yet. null: nobody is logged in. */
export const session = signal<Session | null | undefined>(undefined);

/** Why the login page is shown again. */
export const endedBecause = signal('');

export function sessionToken(): string | null {
  return sessionStorage.getItem(STORED_AS);
}

export function keepSessionToken(token: string): void {
  sessionStorage.setItem(STORED_AS, token);
}

export function forgetSession(): void {
  sessionStorage.removeItem(STORED_AS);
  if (session.value) endedBecause.value = 'Your session ended. Log in again.';
  session.value = null;
}

/** The login of a person ends at `/console/#token=…`: the token must not stay in the address or the history. */
export function takeTokenFromAddress(): void {
  const found = /^#token=([^&]+)$/.exec(location.hash);
  if (found === null) return;
  keepSessionToken(decodeURIComponent(found[1] ?? ''));
  history.replaceState(null, '', location.pathname + location.search);
}
