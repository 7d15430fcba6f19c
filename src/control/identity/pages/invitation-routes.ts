import { firstValue, type HeaderList } from '../../../kit/http/header-values.ts';
import { escapedHtml } from '../../../kit/http/plain-page.ts';
import { queryOf, type WholeAnswer, type WholeRequest } from '../../../kit/http/whole-request.ts';
import type { FoundInvitation, IdentityPage, InvitationProblem, Person } from '../contracts.ts';
import { keptBrowserCookie } from '../passkeys/browser-cookie.ts';
import { register, registrationOptions } from '../passkeys/register.ts';
import { ceremonyRefusal } from './ceremony-refusal.ts';
import { WITHOUT_SCRIPT } from './login.ts';
import { type IdentityPageContent, jsonAnswer, pageAnswer, refusalAnswer, shownTime } from './page-answer.ts';
import { beginAttempt, deviceName, logInPerson, ownForm, type PagePorts } from './page-ports.ts';

/** Accepting an invitation: the person creates the first passkey of the account, or one more. */
export function invitationRoutes(ports: PagePorts): readonly IdentityPage[] {
  return [
    { method: 'GET', path: '/invitation', serve: (request) => showPage(ports, request) },
    { method: 'POST', path: '/invitation/options', serve: (request) => giveOptions(ports, request) },
    { method: 'POST', path: '/invitation/passkey', serve: (request) => accept(ports, request) },
  ];
}

/** Changes nothing: previews, prefetches and scanners open links too. */
async function showPage(ports: PagePorts, request: WholeRequest): Promise<WholeAnswer> {
  const secret = queryOf(request).get('invite') ?? '';
  const found = await findInvitation(ports, request, secret);
  if ('answer' in found) return found.answer;
  const { account, expiresAtMs } = found;
  const other = await otherPerson(ports, request, account);
  const cookie = keptBrowserCookie(request, (bytes) => ports.randomText(bytes));
  const { hostname } = ports.party;
  const page = invitationPage({ account, expiresAtMs, secret, hostname, other });
  return pageAnswer(page, { headers: ['set-cookie', cookie] });
}

async function giveOptions(ports: PagePorts, request: WholeRequest): Promise<WholeAnswer> {
  const form = ownForm(request, ports);
  if ('answer' in form) return form.answer;
  const found = await findInvitation(ports, request, form.fields.get('invite') ?? '');
  if ('answer' in found) return found.answer;
  const { account } = found;
  // Before the passkey exists, so that nothing of it can reach somebody else's session.
  const ended = await endOtherSession(ports, request, account);
  const scope = { purpose: 'accept_invitation', browser: form.browser, accountId: account.id } as const;
  const passkeys = ports.people.passkeysOf(account.id);
  return jsonAnswer(200, { options: await registrationOptions(ports, scope, { account, passkeys }) }, ended);
}

async function accept(ports: PagePorts, request: WholeRequest): Promise<WholeAnswer> {
  const form = ownForm(request, ports);
  if ('answer' in form) return form.answer;
  const secret = form.fields.get('invite') ?? '';
  const found = await findInvitation(ports, request, secret);
  if ('answer' in found) return found.answer;
  const scope = { purpose: 'accept_invitation', browser: form.browser, accountId: found.account.id } as const;
  const name = deviceName(request, ports.people.passkeysOf(found.account.id));
  const made = await register(ports, form.fields.get('response') ?? '', scope, name);
  const back = `/invitation?invite=${encodeURIComponent(secret)}`;
  if ('problem' in made) return ceremonyRefusal(ports, request, made.problem, back);
  await endOtherSession(ports, request, found.account);
  const accepted = await ports.people.acceptInvitation(secret, made.passkey);
  if ('problem' in accepted) return invitationRefusal(request, accepted.problem);
  const { account, passkeyId } = accepted;
  const accountId = account.id;
  ports.log.info({ account: accountId, request_id: request.id }, 'an invitation was accepted');
  return logInPerson(ports, request, {
    ...{ accountId, amr: 'pop', passkeyId, interactionId: null },
    to: '/account?done=welcome',
  });
}

/** Guesses are limited; an invitation that once was genuine is not a guess. */
async function findInvitation(
  ports: PagePorts,
  request: WholeRequest,
  secret: string,
): Promise<Extract<FoundInvitation, { account: Person }> | { readonly answer: WholeAnswer }> {
  if (isSubresource(request)) return { answer: invitationRefusal(request, 'unknown') };
  const found = await ports.people.invitation(secret);
  if (!('problem' in found)) return found;
  if (found.problem !== 'unknown') return { answer: invitationRefusal(request, found.problem) };
  const attempt = beginAttempt(ports, request);
  if ('answer' in attempt) return attempt;
  attempt.failed();
  return { answer: invitationRefusal(request, 'unknown') };
}

/** People open links; a page that embeds one is not the visitor's choice, so nothing is looked up or counted for it. */
function isSubresource({ headers }: WholeRequest): boolean {
  const site = firstValue(headers, 'sec-fetch-site');
  const dest = firstValue(headers, 'sec-fetch-dest');
  return site !== undefined && site !== 'same-origin' && dest !== undefined && dest !== 'document';
}

async function otherPerson(ports: PagePorts, request: WholeRequest, account: Person): Promise<Person | null> {
  const session = await ports.sessions.of(request);
  if (session === null || session.accountId === account.id) return null;
  return ports.people.account(session.accountId) ?? null;
}

async function endOtherSession(ports: PagePorts, request: WholeRequest, account: Person): Promise<HeaderList> {
  return (await otherPerson(ports, request, account)) === null ? [] : ports.sessions.logOut(request);
}

interface InvitationView {
  readonly account: Person;
  readonly expiresAtMs: number;
  readonly secret: string;
  readonly hostname: string;
  /** Somebody else who is logged in with this browser. */
  readonly other: Person | null;
}

/** Shown before anything is spent: previews of messengers and prefetching browsers only see this. */
function invitationPage({ account, expiresAtMs, secret, hostname, other }: InvitationView): IdentityPageContent {
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

const ASK = 'Ask the person who invited you for a new invitation.';
const SIGN_IN = { label: 'Log in', href: '/sign-in' };

const PROBLEMS: Readonly<Record<InvitationProblem | 'taken', { readonly title: string; readonly message: string }>> = {
  unknown: {
    title: 'This invitation does not work',
    message: `Check that its address is complete. ${ASK}`,
  },
  expired: { title: 'This invitation has expired', message: `The time for which it was made is over. ${ASK}` },
  spent: {
    title: 'This invitation was already used',
    message: `It works once, and it was used, or ended by a change of your account. If you used it, log in with your passkey. If it was not you, tell an administrator. ${ASK}`,
  },
  replaced: {
    title: 'A newer invitation replaced this one',
    message: `Only the newest link works: open that one. If you do not have it, ask the person who invited you. For the first administrator, "postern open" on the machine of the server prints a new link.`,
  },
  disabled: {
    title: 'This account is disabled',
    message: 'Ask an administrator to enable it and to invite you again.',
  },
  taken: {
    title: 'This passkey exists already',
    message:
      'The device used a passkey that belongs to an account of this site. Use another device, or log in with it.',
  },
};

function invitationRefusal(request: WholeRequest, problem: keyof typeof PROBLEMS): WholeAnswer {
  const action = problem === 'spent' || problem === 'taken' ? { action: SIGN_IN } : {};
  return refusalAnswer(request, { code: 'ERR_POSTERN_IDENTITY_INVITATION', ...PROBLEMS[problem], ...action });
}
