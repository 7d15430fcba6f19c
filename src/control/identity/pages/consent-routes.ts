import { escapedHtml } from '../../../kit/http/plain-page.ts';
import type { WholeAnswer, WholeRequest } from '../../../kit/http/whole-request.ts';
import type { IdentityPage, Person, WaitingConsent } from '../contracts.ts';
import { keptBrowserCookie } from '../passkeys/browser-cookie.ts';
import { type IdentityPageContent, pageAnswer, refusalAnswer } from './page-answer.ts';
import { ownForm, type PagePorts } from './page-ports.ts';

type ConsentPorts = Pick<PagePorts, 'party' | 'people' | 'sessions' | 'randomText'>;

/** The first login at an address that an agent publishes. */
export function consentRoutes(ports: ConsentPorts): readonly IdentityPage[] {
  return [
    { method: 'GET', path: '/consent', serve: (request) => showPage(ports, request) },
    { method: 'POST', path: '/consent', serve: (request) => decide(ports, request) },
  ];
}

async function showPage({ sessions, people, randomText }: ConsentPorts, request: WholeRequest): Promise<WholeAnswer> {
  const consent = await sessions.consentOf(request);
  if (consent === null) return over(request);
  const cookie = keptBrowserCookie(request, (bytes) => randomText(bytes));
  return pageAnswer(consentPage(consent, people.account(consent.accountId)), { headers: ['set-cookie', cookie] });
}

async function decide(ports: ConsentPorts, request: WholeRequest): Promise<WholeAnswer> {
  const form = ownForm(request, ports);
  if ('answer' in form) return form.answer;
  const isGiven = form.fields.get('decision') === 'continue';
  return (await ports.sessions.decideConsent(request, isGiven)) ?? over(request);
}

function over(request: WholeRequest): WholeAnswer {
  return refusalAnswer(request, {
    code: 'ERR_POSTERN_IDENTITY_REQUEST_OVER',
    title: 'This question is over',
    message:
      'The address is no longer published by the same agent, your session has ended, or another person logged in with this browser. Open the application again.',
    action: { label: 'My account', href: '/account' },
  });
}

/** Names host and agent, once, before the service behind the agent learns who somebody is. */
function consentPage(consent: WaitingConsent, person: Person | undefined): IdentityPageContent {
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
