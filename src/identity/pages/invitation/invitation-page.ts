import { escapedHtml } from '../../../lib/http/plain-page.ts';
import type { Person } from '../../contracts/identity-people.ts';
import type { IdentityPageContent } from '../page-answer.ts';
import { shownTime } from '../shown-time.ts';
import { WITHOUT_SCRIPT } from '../sign-in/sign-in-page.ts';

export interface InvitationView {
  readonly account: Person;
  readonly expiresAtMs: number;
  readonly secret: string;
  readonly hostname: string;
  /** Somebody else who is logged in with this browser. */
  readonly other: Person | null;
}

/** Shown before anything is spent: previews of messengers and prefetching browsers only see this. */
export function invitationPage({ account, expiresAtMs, secret, hostname, other }: InvitationView): IdentityPageContent {
  const leaves =
    other === null
      ? ''
      : `<p>You are logged in as <strong>${escapedHtml(other.email)}</strong>. If you continue, that session ends in this browser.</p>`;
  const greeting = account.name === '' ? '' : `<p>Hello ${escapedHtml(account.name)}.</p>`;
  return {
    title: `You are invited to ${hostname}`,
    hasScript: true,
    hasSecretAddress: true,
    body: `${greeting}<p>This invitation is for <strong>${escapedHtml(account.email)}</strong>. Create a passkey to accept it: your device keeps it, and asks for your fingerprint, face or PIN when you log in. There is no password.</p>
${leaves}
<form method="post" action="/invitation/passkey" data-ceremony="create" data-options="/invitation/options">
<input type="hidden" name="invite" value="${escapedHtml(secret)}">
<input type="hidden" name="response">
<button class="button">Create a passkey</button>
<div role="alert"></div>
</form>
<p class="hint">The invitation works once, until ${shownTime(expiresAtMs)}.</p>
${WITHOUT_SCRIPT}`,
  };
}
