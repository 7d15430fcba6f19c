import type { WholeAnswer, WholeRequest } from '../../../lib/http/whole-request.ts';
import type { IdentityPage } from '../../contracts/identity-host.ts';
import { keptBrowserCookie } from '../../passkeys/browser-cookie.ts';
import { ownForm } from '../own-form.ts';
import { pageAnswer } from '../page-answer.ts';
import type { PagePorts } from '../page-ports.ts';
import { refusalAnswer } from '../refusal.ts';
import { consentPage } from './consent-page.ts';

export type ConsentPorts = Pick<PagePorts, 'party' | 'people' | 'sessions' | 'randomText'>;

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
