import type { WholeAnswer, WholeRequest } from '../../../lib/http/whole-request.ts';
import type { PersonalPasskey } from '../../contracts/identity-people.ts';
import { authenticate, authenticationOptions } from '../../passkeys/authenticate.ts';
import { register, registrationOptions } from '../../passkeys/register.ts';
import { beginAttempt } from '../begin-attempt.ts';
import { ceremonyRefusal } from '../ceremony-refusal.ts';
import { deviceName } from '../device-name.ts';
import { jsonAnswer } from '../page-answer.ts';
import type { PagePorts } from '../page-ports.ts';
import { refusalAnswer } from '../refusal.ts';
import { type AccountForm, toAccount } from './account-page.ts';
import { confirmationCookie, mayChangePasskeys, recentProof } from './recent-passkey.ts';

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
