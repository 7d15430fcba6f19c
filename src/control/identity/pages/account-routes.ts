import { queryOf, type WholeAnswer, type WholeRequest } from '../../../kit/http/whole-request.ts';
import type { IdentityPage, IdentitySession, Person } from '../contracts.ts';
import { keptBrowserCookie } from '../passkeys/browser-cookie.ts';
import { type AccountForm, accountNews, accountPage, toAccount } from './account-page.ts';
import {
  addPasskey,
  clearedConfirmation,
  confirm,
  giveAddOptions,
  giveConfirmOptions,
  mayChangePasskeys,
  removePasskey,
  renamePasskey,
} from './change-passkeys.ts';
import { pageAnswer, redirectAnswer, refusalAnswer } from './page-answer.ts';
import { ownForm, type PagePorts } from './page-ports.ts';

type ServeForm = (ports: PagePorts, form: AccountForm) => Promise<WholeAnswer>;

const FORMS: Readonly<Record<string, ServeForm>> = {
  '/account/confirm/options': giveConfirmOptions,
  '/account/confirm': confirm,
  '/account/passkeys/options': giveAddOptions,
  '/account/passkeys': addPasskey,
  '/account/passkeys/rename': renamePasskey,
  '/account/passkeys/remove': removePasskey,
  '/account/sessions/end': endSession,
  '/account/applications/end': endApplication,
  '/account/consents/withdraw': withdrawConsent,
  '/account/sign-out': logOut,
  '/account/sign-out-everywhere': logOutEverywhere,
};

/** My account: the own passkeys, sessions and decisions. */
export function accountRoutes(ports: PagePorts): readonly IdentityPage[] {
  return [
    { method: 'GET', path: '/', serve: () => redirectAnswer('/account') },
    { method: 'GET', path: '/account', serve: (request) => showPage(ports, request) },
    ...Object.entries(FORMS).map(([path, serve]) => ({
      method: 'POST' as const,
      path,
      serve: (request: WholeRequest) => serveForm(ports, request, serve),
    })),
  ];
}

async function showPage(ports: PagePorts, request: WholeRequest): Promise<WholeAnswer> {
  const found = await loggedIn(ports, request);
  if (found === null) return redirectAnswer('/sign-in');
  const { account, session } = found;
  const page = accountPage({
    account,
    passkeys: ports.people.passkeysOf(account.id),
    sessions: await ports.sessions.list(account.id),
    consents: await ports.sessions.consents(account.id),
    current: session,
    mayChangePasskeys: mayChangePasskeys(ports, request, session),
    consoleUrl: ports.people.hasConsoleRole(account.id) ? ports.consoleUrl : null,
    done: accountNews(queryOf(request).get('done')),
  });
  const cookie = keptBrowserCookie(request, (bytes) => ports.randomText(bytes));
  return pageAnswer(page, { headers: ['set-cookie', cookie] });
}

async function serveForm(ports: PagePorts, request: WholeRequest, serve: ServeForm): Promise<WholeAnswer> {
  const form = ownForm(request, ports);
  if ('answer' in form) return form.answer;
  const found = await loggedIn(ports, request);
  if (found !== null) return serve(ports, { request, ...form, ...found });
  return refusalAnswer(request, {
    code: 'ERR_POSTERN_IDENTITY_SESSION',
    title: 'Your session has ended',
    message: 'Nothing was changed. Log in again.',
    action: { label: 'Log in', href: '/sign-in' },
  });
}

async function loggedIn(
  { sessions, people }: PagePorts,
  request: WholeRequest,
): Promise<{ readonly session: IdentitySession; readonly account: Person } | null> {
  const session = await sessions.of(request);
  const account = session === null ? undefined : people.account(session.accountId);
  return session === null || account?.isActive !== true ? null : { session, account };
}

/** The other sessions of the same person only. */
async function endSession(ports: PagePorts, { account, fields }: AccountForm): Promise<WholeAnswer> {
  await ports.sessions.end(account.id, fields.get('id') ?? '');
  return toAccount('ended');
}

/** The session goes on. */
async function endApplication(ports: PagePorts, { account, fields }: AccountForm): Promise<WholeAnswer> {
  await ports.sessions.endApplication(account.id, fields.get('session') ?? '', fields.get('application') ?? '');
  return toAccount('application');
}

async function withdrawConsent(ports: PagePorts, { account, fields }: AccountForm): Promise<WholeAnswer> {
  const consent = { host: fields.get('host') ?? '', credentialId: fields.get('credential') ?? '' };
  await ports.sessions.withdrawConsent(account.id, consent);
  return toAccount('withdrawn');
}

async function logOut(ports: PagePorts, { request }: AccountForm): Promise<WholeAnswer> {
  const headers = await ports.sessions.logOut(request);
  return redirectAnswer('/sign-in', [...headers, 'set-cookie', clearedConfirmation()]);
}

async function logOutEverywhere(ports: PagePorts, form: AccountForm): Promise<WholeAnswer> {
  await ports.people.logOut(form.account.id);
  return logOut(ports, form);
}
