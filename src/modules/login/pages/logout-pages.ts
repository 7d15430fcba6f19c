import { linkButton } from '../../../lib/http/plain-page.ts';
import type { OwnAnswer } from '../../contract/serves-paths.ts';
import { htmlPage } from './page.ts';

/** A link from another site must not log anybody out: the user has to confirm. */
export function confirmLogoutPage(): OwnAnswer {
  return htmlPage({
    title: 'Log out?',
    body: '<p>This ends your session on this site and, if possible, at the identity provider.</p><form method="post" action="/.postern/logout"><button class="button">Log out</button></form>',
    hasForm: true,
  });
}

export function loggedOutPage(): OwnAnswer {
  return htmlPage({
    title: 'You are logged out',
    body: `<p>Your session on this site has ended.</p>${linkButton('Log in again', '/')}`,
  });
}
