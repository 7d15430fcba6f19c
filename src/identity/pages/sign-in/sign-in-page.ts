import { escapedHtml } from '../../../lib/http/plain-page.ts';
import type { WaitingInteraction } from '../../contracts/identity-sessions.ts';
import type { IdentityPageContent } from '../page-answer.ts';

export interface SignInView {
  readonly interaction: WaitingInteraction | null;
  readonly offersCodes: boolean;
}

/** The address of a page or form of a login: it names the application's request, if there is one. */
export function signInPath(path: string, interaction: WaitingInteraction | null): string {
  return interaction === null ? path : `${path}?interaction=${encodeURIComponent(interaction.id)}`;
}

/** The field offers passkeys among its suggestions; the button opens the browser's dialog. */
export function signInPage({ interaction, offersCodes }: SignInView): IdentityPageContent {
  const path = (below: string): string => escapedHtml(signInPath(below, interaction));
  const asks =
    interaction === null
      ? ''
      : `<p>${interaction.mustProveAgain ? 'Log in again' : 'Log in'} to continue to <strong>${escapedHtml(interaction.application)}</strong>.</p>`;
  const codes = offersCodes
    ? `<button class="button quiet" formaction="${path('/code')}">Send a code by e-mail</button>`
    : '';
  return {
    title: 'Log in',
    hasScript: true,
    formsLeadTo: 'applications',
    body: `${asks}
<form method="post" action="${path('/sign-in/passkey')}" data-ceremony="get" data-autofill data-options="${path('/sign-in/options')}" novalidate>
<label for="email">E-mail address</label>
<input id="email" ${offersCodes ? 'name="email" ' : ''}type="email" autocomplete="username webauthn" autocapitalize="none" spellcheck="false" aria-describedby="how">
<p class="hint" id="how">Choose your passkey in this field, or use the button.${offersCodes ? ' For a code, enter your address.' : ''}</p>
<input type="hidden" name="response">
<div class="row"><button class="button">Log in with a passkey</button>${codes}</div>
<div role="alert"></div>
</form>
${WITHOUT_SCRIPT}`,
    footer:
      '<p>There is no password. A passkey is kept by your device or password manager, and protected by your fingerprint, face or PIN. If you have none, ask an administrator for an invitation.</p>',
  };
}

export const WITHOUT_SCRIPT =
  '<noscript><p>Passkeys need JavaScript. Allow it for this site, and load the page again.</p></noscript>';
