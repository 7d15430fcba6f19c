import type { PersonalMail } from '../../identity/contracts/identity-mail.ts';
import type { NewInvitation } from '../../identity/people/invitation-put.ts';
import type { IdentityFacts } from '../resource.ts';

/** The mail that brings a person the link. */
export function invitationMail(
  { email, name }: { readonly email: string; readonly name: string },
  { url, expiresAtMs }: Pick<NewInvitation, 'url' | 'expiresAtMs'>,
  { hostname }: Pick<IdentityFacts, 'hostname'>,
): PersonalMail {
  const end = new Date(expiresAtMs).toUTCString();
  return {
    to: email,
    subject: `Your invitation to ${hostname}`,
    text: [
      name === '' ? 'Hello,' : `Hello ${name},`,
      `you can log in at ${hostname}. Open this link and register a passkey on your device:`,
      url,
      `The link works once, until ${end}. Keep it to yourself: with it, somebody else could log in as you.`,
      'If you did not expect this mail, ignore it.',
    ].join('\n\n'),
    expiresAtMs,
  };
}
