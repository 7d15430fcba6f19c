import type { WholeAnswer, WholeRequest } from '../../../lib/http/whole-request.ts';
import type { InvitationProblem } from '../../contracts/identity-people.ts';
import { refusalAnswer } from '../refusal.ts';

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

export function invitationRefusal(request: WholeRequest, problem: keyof typeof PROBLEMS): WholeAnswer {
  const action = problem === 'spent' || problem === 'taken' ? { action: SIGN_IN } : {};
  return refusalAnswer(request, { code: 'ERR_POSTERN_IDENTITY_INVITATION', ...PROBLEMS[problem], ...action });
}
