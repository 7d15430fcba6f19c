import { clearCookie, cookieValues, setCookie } from '../../../kit/http/cookie-header.ts';
import { valuesOf } from '../../../kit/http/header-values.ts';
import type { WholeAnswer, WholeRequest } from '../../../kit/http/whole-request.ts';
import type { IdentitySession, PersonalPasskey } from '../contracts.ts';
import { authenticate, authenticationOptions } from '../passkeys/authenticate.ts';
import { register, registrationOptions } from '../passkeys/register.ts';
import { type AccountForm, toAccount } from './account-page.ts';
import { ceremonyRefusal } from './ceremony-refusal.ts';
import { jsonAnswer, refusalAnswer } from './page-answer.ts';
import { beginAttempt, deviceName, type PagePorts } from './page-ports.ts';

const MAX_NAME = 64;
const BACK = { label: 'My account', href: '/account' };

export async function giveConfirmOptions(ports: PagePorts, { browser, account }: AccountForm): Promise<WholeAnswer> {
  const scope = { purpose: 'confirm', browser, accountId: account.id } as const;
  return jsonAnswer(200, { options: await authenticationOptions(ports, scope) });
}

/** The person of the session uses a passkey again: for five minutes they may change their passkeys. */
export async function confirm(
  ports: PagePorts,
  { request, browser, fields, account, session }: AccountForm,
): Promise<WholeAnswer> {
  const attempt = beginAttempt(ports, request);
  if ('answer' in attempt) return attempt.answer;
  const scope = { purpose: 'confirm', browser, accountId: account.id } as const;
  const proof = await authenticate(ports, fields.get('response') ?? '', scope);
  if ('problem' in proof) {
    attempt.failed();
    return ceremonyRefusal(ports, request, proof.problem, '/account');
  }
  attempt.succeeded();
  return toAccount('confirmed', ['set-cookie', confirmationCookie(ports, session, proof.passkey.id)]);
}

export async function giveAddOptions(
  ports: PagePorts,
  { request, browser, account, session }: AccountForm,
): Promise<WholeAnswer> {
  if (!mayChangePasskeys(ports, request, session)) return notConfirmed(request);
  const scope = { purpose: 'add_passkey', browser, accountId: account.id } as const;
  const passkeys = ports.people.passkeysOf(account.id);
  return jsonAnswer(200, { options: await registrationOptions(ports, scope, { account, passkeys }) });
}

export async function addPasskey(
  ports: PagePorts,
  { request, browser, fields, account, session }: AccountForm,
): Promise<WholeAnswer> {
  const proof = recentProof(ports, request, session);
  if (proof === null) return notConfirmed(request);
  const scope = { purpose: 'add_passkey', browser, accountId: account.id } as const;
  const made = await register(
    ports,
    fields.get('response') ?? '',
    scope,
    deviceName(request, ports.people.passkeysOf(account.id)),
  );
  if ('problem' in made) return ceremonyRefusal(ports, request, made.problem, '/account');
  const outcome = await ports.people.addPasskey(account.id, made.passkey, proof.passkeyId);
  if (outcome === 'added') return toAccount('added');
  return refusalAnswer(request, {
    code: 'ERR_POSTERN_IDENTITY_PASSKEY',
    title: outcome === 'taken' ? 'This passkey exists already' : 'The account is gone',
    message:
      outcome === 'taken'
        ? 'The device used a passkey that belongs to an account of this site. Nothing was changed.'
        : 'It was deleted or disabled meanwhile. Nothing was changed.',
    action: BACK,
  });
}

export async function renamePasskey(ports: PagePorts, form: AccountForm): Promise<WholeAnswer> {
  const passkey = ownPasskey(ports, form);
  const name = nameOf(form.fields.get('name') ?? '');
  if (passkey === undefined) return gone(form.request);
  if (name !== '' && name !== passkey.name && !(await ports.people.renamePasskey(passkey.id, name)))
    return gone(form.request);
  return toAccount('renamed');
}

export async function removePasskey(ports: PagePorts, form: AccountForm): Promise<WholeAnswer> {
  const { request, session } = form;
  if (!mayChangePasskeys(ports, request, session)) return notConfirmed(request);
  const passkey = ownPasskey(ports, form);
  const outcome = passkey === undefined ? 'gone' : await ports.people.removePasskey(passkey.id);
  if (outcome === 'removed') return toAccount('removed');
  if (outcome === 'gone') return gone(request);
  return refusalAnswer(request, {
    code: 'ERR_POSTERN_IDENTITY_LAST_PASSKEY',
    title: 'This is your last passkey',
    message: 'Without it you could no longer log in. Add another one first.',
    action: BACK,
  });
}

/** Only one of the person who is logged in. */
function ownPasskey({ people }: PagePorts, { account, fields }: AccountForm): PersonalPasskey | undefined {
  const wanted = fields.get('id');
  return people.passkeysOf(account.id).find(({ id }) => id === wanted);
}

/** Visible characters of one line. */
function nameOf(text: string): string {
  return text
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ')
    .trim()
    .slice(0, MAX_NAME);
}

function notConfirmed(request: WholeRequest): WholeAnswer {
  return refusalAnswer(request, {
    code: 'ERR_POSTERN_IDENTITY_CONFIRM',
    title: 'Confirm that it is you',
    message:
      'Adding or removing a passkey requires that you used one within the last five minutes. Load the account page again, and confirm with a passkey.',
    action: BACK,
  });
}

function gone(request: WholeRequest): WholeAnswer {
  return refusalAnswer(request, {
    code: 'ERR_POSTERN_IDENTITY_PASSKEY',
    title: 'This passkey is gone',
    message: 'It was removed meanwhile. Nothing was changed.',
    action: BACK,
  });
}

/** How long a passkey's use lets the person add or remove passkeys. */
const RECENT_MS = 5 * 60_000;
const NAME = '__Host-postern-confirmed';
const SEAL_PURPOSE = 'identity-confirmed';
const MAX_OPENED = 4;

type Ports = Pick<PagePorts, 'seal' | 'open' | 'clock' | 'people'>;

interface Confirmation {
  readonly session: string;
  readonly at: number;
  /** Id of the passkey. */
  readonly passkey: string;
}

/**
 * Whether the person may change passkeys now: they used one within five minutes, to log in or to confirm. While they
 * have none, a code by e-mail of the same age is enough: there is nothing that it could take over. But codes can be
 * phished, so it is not enough for somebody who got a role in the console since then.
 */
export function mayChangePasskeys(ports: Ports, request: WholeRequest, session: IdentitySession): boolean {
  return recentProof(ports, request, session) !== null;
}

/** The recent proof, with the id of the passkey; null for a code. */
function recentProof(
  ports: Ports,
  request: WholeRequest,
  session: IdentitySession,
): { readonly passkeyId: string | null } | null {
  const nowMs = ports.clock.nowMs();
  if (isRecent(session.authenticatedAtMs, nowMs)) {
    if (session.amr.includes('pop')) return { passkeyId: session.passkeyId };
    const { people } = ports;
    if (people.passkeysOf(session.accountId).length === 0 && !people.hasConsoleRole(session.accountId))
      return { passkeyId: null };
  }
  const values = cookieValues(valuesOf(request.headers, 'cookie'), NAME);
  for (const value of values.slice(0, MAX_OPENED)) {
    const text = ports.open(SEAL_PURPOSE, value);
    const confirmation = text === null ? null : (JSON.parse(text) as Confirmation);
    if (confirmation?.session === session.id && isRecent(confirmation.at, nowMs))
      return { passkeyId: confirmation.passkey };
  }
  return null;
}

/** After a passkey of the session's person was used. It belongs to this session, and ends with it. */
function confirmationCookie(ports: Ports, { id }: IdentitySession, passkeyId: string): string {
  const confirmation: Confirmation = { session: id, at: ports.clock.nowMs(), passkey: passkeyId };
  return setCookie(NAME, ports.seal(SEAL_PURPOSE, JSON.stringify(confirmation)), RECENT_MS / 1000);
}

export function clearedConfirmation(): string {
  return clearCookie(NAME);
}

/** A time in the future, left by a clock that was set back, does not count as recent. */
function isRecent(atMs: number, nowMs: number): boolean {
  return nowMs - atMs < RECENT_MS && atMs - nowMs < RECENT_MS;
}
