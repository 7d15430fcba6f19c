import type { EmailCodes } from '../codes/email-codes.ts';
import type { IdentityPage } from '../contracts/identity-request.ts';
import { accountRoutes } from './account/account-routes.ts';
import { codeRoutes } from './code/code-routes.ts';
import { invitationRoutes } from './invitation/invitation-routes.ts';
import type { PagePorts } from './page-ports.ts';
import { signInRoutes } from './sign-in/sign-in-routes.ts';

/** Every page and form of the identity host. `codes`: null while the setting identity_email_codes is off. */
export function identityPages(
  ports: Omit<PagePorts, 'offersCodes'>,
  codes: EmailCodes | null,
): readonly IdentityPage[] {
  const own = { ...ports, offersCodes: codes !== null };
  return [
    ...signInRoutes(own),
    ...invitationRoutes(own),
    ...accountRoutes(own),
    ...(codes === null ? [] : codeRoutes(own, codes)),
  ];
}
