import { clearCookie, cookieValues, setCookie } from '../../../lib/http/cookie-header.ts';
import { valuesOf } from '../../../lib/http/header-list.ts';
import type { WholeRequest } from '../../../lib/http/whole-request.ts';
import type { IdentitySession } from '../../contracts/identity-sessions.ts';
import type { PagePorts } from '../page-ports.ts';

/** How long a passkey's use lets the person add or remove passkeys. */
const RECENT_MS = 5 * 60_000;
const NAME = '__Host-postern-confirmed';
const SEAL_PURPOSE = 'identity-confirmed';
const MAX_OPENED = 4;

type Ports = Pick<PagePorts, 'seal' | 'open' | 'clock' | 'people'>;

interface Confirmation {
  readonly session: string;
  readonly at: number;
  /** Id of the passkey. */
  readonly passkey: string;
}

/**
 * Whether the person may change passkeys now: they used one within five minutes, to log in or to confirm. While they have
 * none, a code by e-mail of the same age is enough: there is nothing that it could take over. But codes can be phished, so
 * it is not enough for somebody who got a role in the console since then.
 */
export function mayChangePasskeys(ports: Ports, request: WholeRequest, session: IdentitySession): boolean {
  return recentProof(ports, request, session) !== null;
}

/** The recent proof, with the id of the passkey; null for a code. */
export function recentProof(
  ports: Ports,
  request: WholeRequest,
  session: IdentitySession,
): { readonly passkeyId: string | null } | null {
  const nowMs = ports.clock.nowMs();
  if (isRecent(session.authenticatedAtMs, nowMs)) {
    if (session.amr.includes('pop')) return { passkeyId: session.passkeyId };
    const { people } = ports;
    if (people.passkeysOf(session.accountId).length === 0 && !people.hasConsoleRole(session.accountId))
      return { passkeyId: null };
  }
  const values = cookieValues(valuesOf(request.headers, 'cookie'), NAME);
  for (const value of values.slice(0, MAX_OPENED)) {
    const text = ports.open(SEAL_PURPOSE, value);
    const confirmation = text === null ? null : (JSON.parse(text) as Confirmation);
    if (confirmation?.session === session.id && isRecent(confirmation.at, nowMs))
      return { passkeyId: confirmation.passkey };
  }
  return null;
}

/** After a passkey of the session's person was used. It belongs to this session, and ends with it. */
export function confirmationCookie(ports: Ports, { id }: IdentitySession, passkeyId: string): string {
  const confirmation: Confirmation = { session: id, at: ports.clock.nowMs(), passkey: passkeyId };
  return setCookie(NAME, ports.seal(SEAL_PURPOSE, JSON.stringify(confirmation)), RECENT_MS / 1000);
}

export function clearedConfirmation(): string {
  return clearCookie(NAME);
}

/** A time in the future, left by a clock that was set back, does not count as recent. */
function isRecent(atMs: number, nowMs: number): boolean {
  return nowMs - atMs < RECENT_MS && atMs - nowMs < RECENT_MS;
}
