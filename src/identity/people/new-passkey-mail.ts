import type { PersonalMail } from '../contracts/identity-mail.ts';

const DAY_MS = 86_400_000;

/** Tells the person: somebody else may have registered it. */
export function newPasskeyMail(
  { email, name }: { readonly email: string; readonly name: string },
  passkey: { readonly name: string },
  { hostname, issuer }: { readonly hostname: string; readonly issuer: string },
  nowMs: number,
): PersonalMail {
  return {
    to: email,
    subject: `New passkey for ${hostname}`,
    text: [
      name === '' ? 'Hello,' : `Hello ${name},`,
      `the passkey "${passkey.name}" was added to your account at ${hostname}, ${new Date(nowMs).toUTCString()}.`,
      `If that was not you, remove it at ${issuer}/account and tell your administrator at once.`,
    ].join('\n\n'),
    expiresAtMs: nowMs + DAY_MS,
  };
}
