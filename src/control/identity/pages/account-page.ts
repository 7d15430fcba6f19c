import type { HeaderList } from '../../../kit/http/header-values.ts';
import { escapedHtml, linkButton } from '../../../kit/http/plain-page.ts';
import type { WholeAnswer, WholeRequest } from '../../../kit/http/whole-request.ts';
import type {
  GivenConsent,
  IdentitySession,
  Person,
  PersonalPasskey,
  ShownApplication,
  ShownSession,
} from '../contracts.ts';
import { WITHOUT_SCRIPT } from './login.ts';
import { type IdentityPageContent, redirectAnswer, shownTime } from './page-answer.ts';
import type { OwnForm } from './page-ports.ts';

export interface AccountView {
  readonly account: Person;
  readonly passkeys: readonly PersonalPasskey[];
  readonly sessions: readonly ShownSession[];
  readonly consents: readonly GivenConsent[];
  readonly current: IdentitySession;
  readonly mayChangePasskeys: boolean;
  /** Null: the person may not use the console. */
  readonly consoleUrl: string | null;
  readonly done: AccountNews | null;
}

const NEWS = {
  welcome: 'Your passkey works, and you are logged in. You can close this page, or add a passkey on a second device.',
  confirmed: 'Confirmed. You can add and remove passkeys for five minutes.',
  added: 'The passkey was added.',
  renamed: 'The passkey was renamed.',
  removed: 'The passkey was removed. Delete it on its device too.',
  ended: 'The session was ended.',
  application: 'You are logged out of the application.',
  withdrawn: 'Withdrawn. You will be asked again before that service learns who you are.',
} as const;

export type AccountNews = keyof typeof NEWS;

/** The query of the page names what was done: only one of our own sentences is shown. */
export function accountNews(text: string | null): AccountNews | null {
  return text !== null && Object.hasOwn(NEWS, text) ? (text as AccountNews) : null;
}

/** A form of the account page, sent by the person who is logged in. */
export interface AccountForm extends OwnForm {
  readonly request: WholeRequest;
  readonly session: IdentitySession;
  readonly account: Person;
}

/** Back to the page, which says what was done. */
export function toAccount(done: AccountNews, headers: HeaderList = []): WholeAnswer {
  return redirectAnswer(`/account?done=${done}`, headers);
}

export function accountPage(view: AccountView): IdentityPageContent {
  const { account, done, consoleUrl } = view;
  const name = account.name === '' ? '' : `${escapedHtml(account.name)}, `;
  return {
    title: 'My account',
    hasScript: true,
    body: `${done === null ? '' : `<p role="status">${NEWS[done]}</p>`}
<p>You are logged in as ${name}<strong>${escapedHtml(account.email)}</strong>.</p>
${consoleUrl === null ? '' : linkButton('Open the console', consoleUrl)}
<form method="post" action="/account/sign-out"><button class="button quiet">Log out</button></form>
${passkeySection(view)}
${sessionSection(view)}
${consentSection(view)}
${WITHOUT_SCRIPT}`,
  };
}

function passkeySection({ passkeys, mayChangePasskeys }: AccountView): string {
  const items = passkeys.map((passkey) => passkeyItem(passkey, mayChangePasskeys && passkeys.length > 1));
  return `<section aria-labelledby="passkeys"><h2 id="passkeys">Passkeys</h2>
${items.length === 0 ? '<p>You have no passkey.</p>' : `<ul class="things">${items.join('')}</ul>`}
${mayChangePasskeys ? addForm() : confirmForm(passkeys.length > 0)}
${passkeys.length === 1 ? '<p class="hint">This is your only passkey. Add one on a second device, so that you can log in if you lose the first. Your only passkey cannot be removed.</p>' : ''}
</section>`;
}

function passkeyItem(
  { id, name, createdAtMs, lastUsedAtMs, isBackedUp }: PersonalPasskey,
  isRemovable: boolean,
): string {
  const used = lastUsedAtMs === null ? 'not used yet' : `last used ${shownTime(lastUsedAtMs)}`;
  const label = escapedHtml(name);
  const field = `name-${escapedHtml(id)}`;
  const remove = isRemovable
    ? `<form method="post" action="/account/passkeys/remove"><input type="hidden" name="id" value="${escapedHtml(id)}"><button class="button quiet small" aria-label="Remove ${label}">Remove</button></form>`
    : '';
  return `<li><strong>${label}</strong>
<p class="hint">Added ${shownTime(createdAtMs)}, ${used}${isBackedUp ? ', synchronized between your devices' : ''}</p>
<details><summary aria-label="Rename ${label}">Rename</summary><form class="row" method="post" action="/account/passkeys/rename"><input type="hidden" name="id" value="${escapedHtml(id)}">
<label for="${field}">New name</label><input id="${field}" name="name" value="${label}" maxlength="64" required autocomplete="off"><button class="button quiet small" aria-label="Save the new name of ${label}">Save</button></form></details>
${remove}</li>`;
}

function addForm(): string {
  return `<form method="post" action="/account/passkeys" data-ceremony="create" data-options="/account/passkeys/options">
<input type="hidden" name="response"><button class="button">Add a passkey</button><div role="alert"></div></form>`;
}

function confirmForm(hasPasskey: boolean): string {
  if (!hasPasskey) {
    return '<p>To add a passkey, log in again: log out, and ask for a new code. If you get none, ask an administrator for an invitation.</p>';
  }
  return `<form method="post" action="/account/confirm" data-ceremony="get" data-options="/account/confirm/options">
<p>To add or remove passkeys, confirm first that it is you.</p>
<input type="hidden" name="response"><button class="button">Confirm with a passkey</button><div role="alert"></div></form>`;
}

function sessionSection({ sessions, current }: AccountView): string {
  const items = sessions.map((session) => sessionItem(session, session.id === current.id));
  return `<section aria-labelledby="sessions"><h2 id="sessions">Sessions and applications</h2>
<ul class="things">${items.join('')}</ul>
${sessions.some(({ applications }) => applications.length > 0) ? '<p class="hint">Ending an application logs you out there. While the session lasts, its browser can log in there again without a passkey.</p>' : ''}
${sessions.length > 1 ? '<p class="hint">Ending a session logs that browser out here and from the applications that it logged in to.</p>' : ''}
<form method="post" action="/account/sign-out-everywhere"><button class="button quiet" aria-describedby="everywhere">Log out everywhere</button>
<p class="hint" id="everywhere">This ends all logins with your account, in this browser too. Use it if a device was lost or a session is not yours. Your passkeys stay.</p></form></section>`;
}

function sessionItem({ id, startedAtMs, applications }: ShownSession, isCurrent: boolean): string {
  const where = isCurrent ? 'in this browser' : `in the session of ${new Date(startedAtMs).toISOString()}`;
  const items = applications.map((application) => applicationItem(id, application, where));
  const end = isCurrent
    ? ''
    : `<form method="post" action="/account/sessions/end"><input type="hidden" name="id" value="${escapedHtml(id)}"><button class="button quiet small" aria-label="End the session of ${new Date(startedAtMs).toISOString()}">End</button></form>`;
  return `<li><strong>${isCurrent ? 'This browser' : 'Another browser'}</strong>
<p class="hint">Logged in ${shownTime(startedAtMs)}</p>${items.length === 0 ? '' : `<ul aria-label="Applications ${where}">${items.join('')}</ul>`}${end}</li>`;
}

function applicationItem(sessionId: string, { id, name }: ShownApplication, where: string): string {
  return `<li><form class="row" method="post" action="/account/applications/end"><input type="hidden" name="session" value="${escapedHtml(sessionId)}"><input type="hidden" name="application" value="${escapedHtml(id)}">
<span>${escapedHtml(name)}</span><button class="button quiet small" aria-label="End ${escapedHtml(name)} ${where}">End</button></form></li>`;
}

function consentSection({ consents }: AccountView): string {
  if (consents.length === 0) return '';
  return `<section aria-labelledby="consents"><h2 id="consents">Services of agents that know who you are</h2>
<ul class="things">${consents.map(consentItem).join('')}</ul>
<p class="hint">Withdrawing ends your logins at the address. What its service has already learned, it keeps.</p></section>`;
}

function consentItem({ host, credentialId, givenAtMs }: GivenConsent): string {
  const label = `${escapedHtml(host)}, published with ${escapedHtml(credentialId)}`;
  return `<li><strong>${escapedHtml(host)}</strong>
<p class="hint">Credential <code>${escapedHtml(credentialId)}</code>, agreed ${shownTime(givenAtMs)}</p>
<form method="post" action="/account/consents/withdraw"><input type="hidden" name="host" value="${escapedHtml(host)}"><input type="hidden" name="credential" value="${escapedHtml(credentialId)}"><button class="button quiet small" aria-label="Withdraw for ${label}">Withdraw</button></form></li>`;
}
