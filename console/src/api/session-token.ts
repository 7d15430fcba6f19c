import { signal } from '@preact/signals';

/**
 * In the local storage, which all tabs of this origin share, and no other port of the host: one login is enough for all
 * of them. Without the cookie, which no script can read, the token is useless.
 */
const STORED_AS = 'postern-console-token';

export interface Session {
  readonly id?: string;
  readonly who: { readonly name: string; readonly kind: 'key' | 'person' | 'local' };
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
  return localStorage.getItem(STORED_AS);
}

export function keepSessionToken(token: string): void {
  localStorage.setItem(STORED_AS, token);
}

/** `token`: the one that was rejected. Another tab may have logged in again since. */
export function forgetSession(token: string | null): void {
  if (token !== sessionToken()) return;
  localStorage.removeItem(STORED_AS);
  if (session.value) endedBecause.value = 'Your session ended. Log in again.';
  session.value = null;
}

/** Other tabs log in and out: this one does the same at once. */
export function followOtherTabs(onLogin: () => void): void {
  addEventListener('storage', ({ key, newValue }) => {
    // Null: somebody cleared the storage.
    if (key !== STORED_AS && key !== null) return;
    if (key !== null && newValue !== null) return onLogin();
    if (session.value) endedBecause.value = 'You logged out in another tab.';
    session.value = null;
  });
}

/** The login of a person ends at `/console/#token=…`: the token must not stay in the address or the history. */
export function takeTokenFromAddress(): void {
  const found = /^#token=([^&]+)$/.exec(location.hash);
  if (found === null) return;
  keepSessionToken(decodeURIComponent(found[1] ?? ''));
  history.replaceState(null, '', location.pathname + location.search);
}
