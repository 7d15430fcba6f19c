import type { WholeAnswer, WholeRequest } from '../../../kit/http/whole-request.ts';
import type { CeremonyProblem } from '../passkeys/ceremony.ts';
import { refusalAnswer } from './page-answer.ts';
import type { PagePorts } from './page-ports.ts';

const AGAIN = 'Go back and try again.';

const PROBLEMS: Readonly<Record<CeremonyProblem, { readonly title: string; readonly message: string }>> = {
  malformed: {
    title: 'The passkey was not understood',
    message: `The browser or an extension sent something that is not the answer of a passkey. ${AGAIN} If it happens again, try without extensions.`,
  },
  unknown: {
    title: 'This passkey is not known here',
    message:
      'It was removed, or belongs to an earlier installation. Choose another passkey, or ask an administrator for an invitation. You can delete this passkey on your device.',
  },
  foreign: {
    title: 'The passkey answered another request',
    message: `Its answer was made for another page, browser or site, so it was not accepted. ${AGAIN}`,
  },
  expired: {
    title: 'This took too long',
    message: `The page was open for more than ten minutes, or a clock is wrong. ${AGAIN}`,
  },
  replayed: {
    title: 'This answer was used before',
    message: `An answer of a passkey is good once, and this one was sent twice. ${AGAIN}`,
  },
  unverified: {
    title: 'The device did not verify you',
    message:
      'This site requires a passkey that is protected by a PIN, a fingerprint or a face. Set up a screen lock on this device or a PIN on the security key, and try again.',
  },
  invalid: {
    title: 'The passkey was not accepted',
    message: `Its answer is not valid. ${AGAIN} If it happens again, remove the passkey and ask an administrator for an invitation.`,
  },
  cloned: {
    title: 'This passkey may have been copied',
    message:
      'Its counter went back, which happens when a security key was copied. Log in with another passkey and remove this one, or ask an administrator to remove it.',
  },
  not_discoverable: {
    title: 'The device did not store the passkey',
    message:
      'The security key may be full, or too old to store passkeys. Remove passkeys that you no longer need from it, or use another device.',
  },
  disabled: {
    title: 'This account is disabled',
    message: 'The passkey is right, but the account may not log in. Ask an administrator to enable it.',
  },
  not_enough: {
    title: 'This passkey is not enough',
    message:
      'Since you registered it, you got a role that the person who invited you could not give. Ask an administrator for a new invitation, and register a passkey with it.',
  },
  other_account: {
    title: 'This passkey belongs to another account',
    message: 'Choose a passkey of the account that you are logged in with, or log out first.',
  },
};

/** What a person sees when a passkey's answer is refused. `back`: the page to try again on. */
export function ceremonyRefusal(
  ports: Pick<PagePorts, 'log'>,
  request: WholeRequest,
  problem: CeremonyProblem,
  back: string,
): WholeAnswer {
  const fields = { problem, client: request.clientAddress, request_id: request.id };
  if (problem === 'cloned')
    ports.log.warn(fields, 'refused a passkey whose counter went back: it may have been copied');
  else ports.log.info(fields, 'refused a passkey');
  const action = { label: 'Try again', href: back };
  return refusalAnswer(request, { code: 'ERR_POSTERN_IDENTITY_PASSKEY', ...PROBLEMS[problem], action });
}
