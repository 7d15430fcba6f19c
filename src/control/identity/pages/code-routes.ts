import { clearCookie, cookieValues, setCookie } from '../../../kit/http/cookie-header.ts';
import { valuesOf } from '../../../kit/http/header-values.ts';
import { escapedHtml } from '../../../kit/http/plain-page.ts';
import type { WholeAnswer, WholeRequest } from '../../../kit/http/whole-request.ts';
import type { IdentityPage, WaitingInteraction } from '../contracts.ts';
import { CODE_SECONDS, type EmailCodes } from '../email-codes.ts';
import { knownBrowserOf } from '../passkeys/browser-cookie.ts';
import { beginLogin, findInteraction, loginPath } from './login.ts';
import { type IdentityPageContent, pageAnswer, redirectAnswer, refusalAnswer } from './page-answer.ts';
import { logInPerson, type PagePorts } from './page-ports.ts';

const NAME = '__Host-postern-code';

/** Logging in with a code by e-mail. */
export function codeRoutes(ports: PagePorts, codes: EmailCodes): readonly IdentityPage[] {
  return [
    { method: 'POST', path: '/code', serve: (request) => ask(ports, codes, request) },
    { method: 'GET', path: '/code', serve: (request) => showPage(ports, request) },
    { method: 'POST', path: '/code/check', serve: (request) => check(ports, codes, request) },
  ];
}

async function ask(ports: PagePorts, codes: EmailCodes, request: WholeRequest): Promise<WholeAnswer> {
  // The attempt is not given back: whether a mail was sent must not show.
  const begun = await beginLogin(ports, request);
  if ('answer' in begun) return begun.answer;
  const { fields, browser, interaction } = begun;
  const email = (fields.get('email') ?? '').trim();
  if (!email.includes('@')) return noAddress(request, loginPath('/sign-in', interaction));
  const { clientAddress } = request;
  const sealed = codes.ask(email, { browser, clientAddress, known: knownBrowserOf(ports, request) });
  const cookie = setCookie(NAME, sealed, CODE_SECONDS);
  return redirectAnswer(loginPath('/code', interaction), ['set-cookie', cookie]);
}

async function showPage(ports: PagePorts, request: WholeRequest): Promise<WholeAnswer> {
  const found = await findInteraction(ports, request);
  if ('answer' in found) return found.answer;
  if (sealedCode(request) === null) return redirectAnswer(loginPath('/sign-in', found.interaction));
  return pageAnswer(codePage(found.interaction));
}

async function check(ports: PagePorts, codes: EmailCodes, request: WholeRequest): Promise<WholeAnswer> {
  const begun = await beginLogin(ports, request);
  if ('answer' in begun) return begun.answer;
  const { fields, browser, interaction, attempt } = begun;
  const account = await codes.check(sealedCode(request) ?? '', browser, fields.get('code') ?? '');
  if (account === null) {
    attempt.failed();
    return wrongCode(request, loginPath('/code', interaction));
  }
  attempt.succeeded();
  const interactionId = interaction?.id ?? null;
  const proof = { accountId: account.id, amr: 'otp', passkeyId: null, interactionId, to: '/account' } as const;
  const answer = await logInPerson(ports, request, proof);
  return { ...answer, headers: [...answer.headers, 'set-cookie', clearCookie(NAME)] };
}

function sealedCode({ headers }: WholeRequest): string | null {
  return cookieValues(valuesOf(headers, 'cookie'), NAME)[0] ?? null;
}

function noAddress(request: WholeRequest, back: string): WholeAnswer {
  return refusalAnswer(request, {
    code: 'ERR_POSTERN_IDENTITY_CODE',
    title: 'Enter your address',
    message: 'A code is sent by e-mail. Enter your address in the field, then ask for the code.',
    action: { label: 'Back', href: back },
  });
}

/** One answer for all reasons: the number of tries that are left would tell whether the address has an account. */
function wrongCode(request: WholeRequest, back: string): WholeAnswer {
  return refusalAnswer(request, {
    code: 'ERR_POSTERN_IDENTITY_CODE',
    title: 'This code does not work',
    message:
      'It is not the code of the last message, it is older than ten minutes, it was used, it was asked for in another browser, or it was mistyped five times. Check it, or ask for a new one.',
    action: { label: 'Try again', href: back },
  });
}

/** The same for every address: it does not tell who has an account. */
function codePage(interaction: WaitingInteraction | null): IdentityPageContent {
  const path = (below: string): string => escapedHtml(loginPath(below, interaction));
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
