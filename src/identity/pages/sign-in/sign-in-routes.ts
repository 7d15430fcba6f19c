import type { WholeAnswer, WholeRequest } from '../../../lib/http/whole-request.ts';
import type { IdentityPage } from '../../contracts/identity-host.ts';
import type { WaitingInteraction } from '../../contracts/identity-sessions.ts';
import { authenticate, authenticationOptions } from '../../passkeys/authenticate.ts';
import { keptBrowserCookie } from '../../passkeys/browser-cookie.ts';
import { beginAttempt } from '../begin-attempt.ts';
import { ceremonyRefusal } from '../ceremony-refusal.ts';
import { ownForm, queryOf } from '../own-form.ts';
import { jsonAnswer, pageAnswer, redirectAnswer } from '../page-answer.ts';
import type { PagePorts } from '../page-ports.ts';
import { refusalAnswer } from '../refusal.ts';
import { signInPerson } from '../sign-in-person.ts';
import { signInPage, signInPath } from './sign-in-page.ts';

/** Signing in with a passkey, for an application or to see the own account. */
export function signInRoutes(ports: PagePorts): readonly IdentityPage[] {
  return [
    { method: 'GET', path: '/sign-in', serve: (request) => showPage(ports, request) },
    { method: 'POST', path: '/sign-in/options', serve: (request) => giveOptions(ports, request) },
    { method: 'POST', path: '/sign-in/passkey', serve: (request) => checkPasskey(ports, request) },
  ];
}

async function showPage(ports: PagePorts, request: WholeRequest): Promise<WholeAnswer> {
  const found = await findInteraction(ports, request);
  if ('answer' in found) return found.answer;
  const { interaction } = found;
  const isSignedIn = (await ports.sessions.of(request)) !== null;
  if (isSignedIn && interaction === null) return redirectAnswer('/account');
  // Another tab has signed in meanwhile.
  if (isSignedIn && interaction?.mustProveAgain === false) {
    const answer = await ports.sessions.resume(request, interaction.id);
    if (answer !== null) return answer;
  }
  const cookie = keptBrowserCookie(request, (bytes) => ports.randomText(bytes));
  const { offersCodes } = ports;
  return pageAnswer(signInPage({ interaction, offersCodes }), { headers: ['set-cookie', cookie] });
}

async function giveOptions(ports: PagePorts, request: WholeRequest): Promise<WholeAnswer> {
  const form = ownForm(request, ports);
  if ('answer' in form) return form.answer;
  const { browser } = form;
  const options = await authenticationOptions(ports, { purpose: 'sign_in', browser, accountId: '' });
  return jsonAnswer(200, { options });
}

async function checkPasskey(ports: PagePorts, request: WholeRequest): Promise<WholeAnswer> {
  const form = ownForm(request, ports);
  if ('answer' in form) return form.answer;
  const found = await findInteraction(ports, request);
  if ('answer' in found) return found.answer;
  const attempt = beginAttempt(ports, request);
  if ('answer' in attempt) return attempt.answer;
  const scope = { purpose: 'sign_in', browser: form.browser, accountId: '' } as const;
  const proof = await authenticate(ports, form.fields.get('response') ?? '', scope);
  if ('problem' in proof) {
    attempt.failed();
    return ceremonyRefusal(ports, request, proof.problem, signInPath('/sign-in', found.interaction));
  }
  attempt.succeeded();
  const interactionId = found.interaction?.id ?? null;
  return signInPerson(ports, request, { accountId: proof.account.id, amr: 'pop', interactionId, to: '/account' });
}

/** The application's request that the address names; a refusal if it names one that is over. */
export async function findInteraction(
  { sessions }: Pick<PagePorts, 'sessions'>,
  request: WholeRequest,
): Promise<{ readonly interaction: WaitingInteraction | null } | { readonly answer: WholeAnswer }> {
  if (!queryOf(request).has('interaction')) return { interaction: null };
  const interaction = await sessions.interactionOf(request);
  if (interaction !== null) return { interaction };
  const message =
    'The application no longer waits for this sign-in, or asked for it in another browser. Open the application again.';
  const action = { label: 'My account', href: '/account' };
  return {
    answer: refusalAnswer(request, {
      code: 'ERR_POSTERN_IDENTITY_REQUEST_OVER',
      title: 'This sign-in is over',
      message,
      action,
    }),
  };
}
