import type { WholeAnswer, WholeRequest } from '../../../lib/http/whole-request.ts';
import type { IdentityPage } from '../../contracts/identity-host.ts';
import { authenticate, authenticationOptions } from '../../passkeys/authenticate.ts';
import { keptBrowserCookie } from '../../passkeys/browser-cookie.ts';
import { ceremonyRefusal } from '../ceremony-refusal.ts';
import { ownForm } from '../own-form.ts';
import { jsonAnswer, pageAnswer, redirectAnswer } from '../page-answer.ts';
import type { PagePorts } from '../page-ports.ts';
import { signInPerson } from '../sign-in-person.ts';
import { beginSignIn, findInteraction } from './begin-sign-in.ts';
import { signInPage, signInPath } from './sign-in-page.ts';

/** Logging in with a passkey, for an application or to see the own account. */
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
  // Another tab has logged in meanwhile.
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
  const begun = await beginSignIn(ports, request);
  if ('answer' in begun) return begun.answer;
  const { fields, browser, interaction, attempt } = begun;
  const scope = { purpose: 'sign_in', browser, accountId: '' } as const;
  const proof = await authenticate(ports, fields.get('response') ?? '', scope);
  if ('problem' in proof) {
    attempt.failed();
    return ceremonyRefusal(ports, request, proof.problem, signInPath('/sign-in', interaction));
  }
  attempt.succeeded();
  const interactionId = interaction?.id ?? null;
  const { account, passkey } = proof;
  const passkeyId = passkey.id;
  return signInPerson(ports, request, { accountId: account.id, amr: 'pop', passkeyId, interactionId, to: '/account' });
}
