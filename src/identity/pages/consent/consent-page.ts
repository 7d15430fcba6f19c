import { escapedHtml } from '../../../lib/http/plain-page.ts';
import type { Person } from '../../contracts/identity-people.ts';
import type { WaitingConsent } from '../../contracts/identity-sessions.ts';
import type { IdentityPageContent } from '../page-answer.ts';

/** Names host and agent, once, before the service behind the agent learns who somebody is. */
export function consentPage(consent: WaitingConsent, person: Person | undefined): IdentityPageContent {
  const { id, host, credentialId, description } = consent;
  const agent = description === '' ? '' : `<strong>${escapedHtml(description)}</strong>, `;
  return {
    title: 'Show who you are?',
    formsLeadTo: 'applications',
    body: `<p><strong>${escapedHtml(host)}</strong> wants to know who you are.</p>
<p>An agent publishes this address (${agent}credential <code>${escapedHtml(credentialId)}</code>). The service behind it runs on the agent's machine. It will learn your name, your e-mail address and your groups.</p>
${person === undefined ? '' : `<p>You are logged in as <strong>${escapedHtml(person.email)}</strong>.</p>`}
<form method="post" action="/consent?interaction=${encodeURIComponent(id)}"><div class="row">
<button class="button" name="decision" value="continue">Continue to ${escapedHtml(host)}</button>
<button class="button quiet" name="decision" value="cancel">Cancel</button>
</div></form>`,
    footer:
      '<p>You are asked once for this address and this agent. If you do not know who runs it, cancel and ask an administrator.</p>',
  };
}
