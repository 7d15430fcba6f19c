import { PosternError } from '../../../kit/errors.ts';
import type { WholeAnswer, WholeRequest } from '../../../kit/http/whole-request.ts';
import type { IdentityPage } from '../contracts.ts';
import type { EmailCodes } from '../email-codes.ts';
import { accountRoutes } from './account-routes.ts';
import { codeRoutes } from './code-routes.ts';
import { consentRoutes } from './consent-routes.ts';
import { invitationRoutes } from './invitation-routes.ts';
import { loginRoutes } from './login.ts';
import { refusalAnswer } from './page-answer.ts';
import type { PagePorts } from './page-ports.ts';

const RETRY_AFTER_SECONDS = '5';
const CHANGE_PENDING = 'ERR_POSTERN_IDENTITY_CHANGE_PENDING';

/** Every page and form of the identity host. `codes`: null while the setting identity_email_codes is off. */
export function identityPages(
  ports: Omit<PagePorts, 'offersCodes'>,
  codes: EmailCodes | null,
): readonly IdentityPage[] {
  const own = { ...ports, offersCodes: codes !== null };
  const pages = [
    ...loginRoutes(own),
    ...consentRoutes(own),
    ...invitationRoutes(own),
    ...accountRoutes(own),
    ...(codes === null ? [] : codeRoutes(own, codes)),
  ];
  return pages.map((page) => ({ ...page, serve: (request) => served(own, page, request) }));
}

async function served(ports: PagePorts, page: IdentityPage, request: WholeRequest): Promise<WholeAnswer> {
  try {
    return await page.serve(request);
  } catch (error) {
    if (error instanceof PosternError && error.code === CHANGE_PENDING) {
      return refusalAnswer(request, { code: CHANGE_PENDING, title: 'Try again later', message: error.message });
    }
    if (!ports.isStoreOutage(error)) throw error;
    return refusalAnswer(request, {
      code: 'ERR_POSTERN_IDENTITY_UNAVAILABLE',
      title: 'Logging in is not possible right now',
      message:
        'The database of this site cannot be reached. Try again in a moment. If it stays so, tell an administrator.',
      headers: ['retry-after', RETRY_AFTER_SECONDS],
    });
  }
}
