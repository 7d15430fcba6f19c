import { escapedHtml } from '../../../kit/http/plain-page.ts';
import { queryOf, type WholeAnswer, type WholeRequest } from '../../../kit/http/whole-request.ts';
import type { IdentityPage, WaitingInteraction } from '../contracts.ts';
import { authenticate, authenticationOptions } from '../passkeys/authenticate.ts';
import { keptBrowserCookie } from '../passkeys/browser-cookie.ts';
import { ceremonyRefusal } from './ceremony-refusal.ts';
import { type IdentityPageContent, jsonAnswer, pageAnswer, redirectAnswer, refusalAnswer } from './page-answer.ts';
import { type Attempt, beginAttempt, logInPerson, type OwnForm, ownForm, type PagePorts } from './page-ports.ts';

/** Logging in with a passkey, for an application or to see the own account. */
export function loginRoutes(ports: PagePorts): readonly IdentityPage[] {
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
  const isLoggedIn = (await ports.sessions.of(request)) !== null;
  if (isLoggedIn && interaction === null) return redirectAnswer('/account');
  // Another tab has logged in meanwhile.
  if (isLoggedIn && interaction?.mustProveAgain === false) {
    const answer = await ports.sessions.resume(request, interaction.id);
    if (answer !== null) return answer;
  }
  const cookie = keptBrowserCookie(request, (bytes) => ports.randomText(bytes));
  const { offersCodes } = ports;
  return pageAnswer(loginPage({ interaction, offersCodes }), { headers: ['set-cookie', cookie] });
}

async function giveOptions(ports: PagePorts, request: WholeRequest): Promise<WholeAnswer> {
  const form = ownForm(request, ports);
  if ('answer' in form) return form.answer;
  const { browser } = form;
  const options = await authenticationOptions(ports, { purpose: 'sign_in', browser, accountId: '' });
  return jsonAnswer(200, { options });
}

async function checkPasskey(ports: PagePorts, request: WholeRequest): Promise<WholeAnswer> {
  const begun = await beginLogin(ports, request);
  if ('answer' in begun) return begun.answer;
  const { fields, browser, interaction, attempt } = begun;
  const scope = { purpose: 'sign_in', browser, accountId: '' } as const;
  const proof = await authenticate(ports, fields.get('response') ?? '', scope);
  if ('problem' in proof) {
    attempt.failed();
    return ceremonyRefusal(ports, request, proof.problem, loginPath('/sign-in', interaction));
  }
  attempt.succeeded();
  const interactionId = interaction?.id ?? null;
  const { account, passkey } = proof;
  const passkeyId = passkey.id;
  return logInPerson(ports, request, { accountId: account.id, amr: 'pop', passkeyId, interactionId, to: '/account' });
}

interface LoginView {
  readonly interaction: WaitingInteraction | null;
  readonly offersCodes: boolean;
}

/** The address of a page or form of a login: it names the application's request, if there is one. */
export function loginPath(path: string, interaction: WaitingInteraction | null): string {
  return interaction === null ? path : `${path}?interaction=${encodeURIComponent(interaction.id)}`;
}

/** The field offers passkeys among its suggestions; the button opens the browser's dialog. */
function loginPage({ interaction, offersCodes }: LoginView): IdentityPageContent {
  const path = (below: string): string => escapedHtml(loginPath(below, interaction));
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

interface BegunLogin extends OwnForm {
  readonly interaction: WaitingInteraction | null;
  readonly attempt: Attempt;
}

/**
 * A form with a proof: sent by our own page, for an application that still waits if it names one, as one more attempt.
 */
export async function beginLogin(
  ports: PagePorts,
  request: WholeRequest,
): Promise<BegunLogin | { readonly answer: WholeAnswer }> {
  const form = ownForm(request, ports);
  if ('answer' in form) return form;
  const found = await findInteraction(ports, request);
  if ('answer' in found) return found;
  const attempt = beginAttempt(ports, request);
  return 'answer' in attempt ? attempt : { ...form, ...found, attempt };
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
    'The application no longer waits for this login, or asked for it in another browser. Open the application again.';
  const action = { label: 'My account', href: '/account' };
  return {
    answer: refusalAnswer(request, {
      code: 'ERR_POSTERN_IDENTITY_REQUEST_OVER',
      title: 'This login is over',
      message,
      action,
    }),
  };
}
