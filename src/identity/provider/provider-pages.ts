import type { KoaContextWithOIDC } from 'oidc-provider';
import { escapedHtml, linkButton, PAGE_STYLE_SOURCE, plainPage } from '../../lib/http/plain-page.ts';

/** The library adds the hashes of its own scripts, which submit a form. */
export const PROVIDER_PAGE_POLICY = `default-src 'none'; style-src ${PAGE_STYLE_SOURCE}; script-src; base-uri 'none'; frame-ancestors 'none'`;

const ADVICE: Readonly<Record<string, string>> = {
  invalid_client: 'The application is not known here. Ask the operator whether it was removed.',
  invalid_redirect_uri:
    'The application wants to return to an address that is not registered for it. Ask its operator to correct the redirect URI.',
  session_not_found: 'This login is over, or began in another browser. Open the application again.',
};

/** Errors that no application can be told about. */
export function renderError(ctx: KoaContextWithOIDC, { error, error_description: description }: ErrorOut): void {
  const advice = ADVICE[error] ?? 'Open the application again. If this repeats, tell its operator.';
  const details = description === undefined ? '' : ` (${description})`;
  ctx.type = 'html';
  ctx.body = plainPage({
    title: 'This login cannot go on',
    body: `<p>${escapedHtml(advice)}</p>${linkButton('My account', '/account')}`,
    footer: `<code>${escapedHtml(error)}</code>${escapedHtml(details)}`,
  });
}

interface ErrorOut {
  readonly error: string;
  readonly error_description?: string | undefined;
}

/** Asks before it ends the session: an application, or a page that links here, must not decide that alone. */
export function logoutPage(ctx: KoaContextWithOIDC, form: string): void {
  ctx.body = plainPage({
    title: 'Log out?',
    body: `${form}<p>This logs you out of this browser, and of everything that you opened with this login.</p>
<p><button class="button" form="op.logoutForm" name="logout" value="yes" autofocus>Log out</button>
<button class="button" form="op.logoutForm">Stay logged in</button></p>`,
  });
}

export function loggedOutPage(ctx: KoaContextWithOIDC): void {
  ctx.body = plainPage({
    title: 'Logged out',
    body: `<p>You can close this page.</p>${linkButton('Log in', '/sign-in')}`,
  });
}
