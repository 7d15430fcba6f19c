import { escapedHtml } from '../../../lib/http/plain-page.ts';
import type { WaitingInteraction } from '../../contracts/identity-sessions.ts';
import type { IdentityPageContent } from '../page-answer.ts';
import { signInPath } from '../sign-in/sign-in-page.ts';

/** The same for every address: it does not tell who has an account. */
export function codePage(interaction: WaitingInteraction | null): IdentityPageContent {
  const path = (below: string): string => escapedHtml(signInPath(below, interaction));
  return {
    title: 'Enter the code',
    formsLeadTo: 'applications',
    body: `<p>If an account with this address may use codes, a message with a code is on its way. It can take a minute. The code is valid for ten minutes, in this browser only.</p>
<form method="post" action="${path('/code/check')}">
<label for="code">Code</label>
<input class="code" id="code" name="code" autocomplete="one-time-code" autocapitalize="characters" spellcheck="false" maxlength="16" required>
<button class="button">Log in</button>
</form>
<p><a href="${path('/sign-in')}">Use a passkey, or ask for another code</a></p>`,
  };
}
