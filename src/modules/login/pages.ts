import type { HeaderList } from '../../kit/http/header-values.ts';
import { escapedHtml, linkButton, PAGE_STYLE_SOURCE, plainPage, sourceHash } from '../../kit/http/plain-page.ts';
import type { OwnAnswer } from '../contract/prepared-module.ts';

interface Page {
  readonly title: string;
  /** HTML: the caller has escaped foreign text. */
  readonly body: string;
  readonly head?: string;
  /** The only script that may run. */
  readonly script?: string;
  /** The page has a form that posts to this host. */
  readonly hasForm?: boolean;
}

/** One of our pages: no external resources, not frameable, not cached. */
function htmlPage(page: Page, extraHeaders: HeaderList = [], status = 200): OwnAnswer {
  const policy = [
    "default-src 'none'",
    `style-src ${PAGE_STYLE_SOURCE}`,
    ...(page.script === undefined ? [] : [`script-src ${sourceHash(page.script)}`]),
    `form-action ${page.hasForm === true ? '*' : "'none'"}`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
  return {
    status,
    headers: [
      'content-type',
      'text/html; charset=utf-8',
      'cache-control',
      'no-store',
      'content-security-policy',
      policy,
      'x-content-type-options',
      'nosniff',
      'referrer-policy',
      // A form on a page without a referrer is sent with "Origin: null", which carries no information.
      page.hasForm === true ? 'same-origin' : 'no-referrer',
      ...extraHeaders,
    ],
    body: plainPage(page),
  };
}

export function redirect(location: string, cookies: readonly string[] = []): OwnAnswer {
  return {
    status: 302,
    headers: [
      'location',
      location,
      'cache-control',
      'no-store',
      'referrer-policy',
      'no-referrer',
      ...cookies.flatMap((cookie) => ['set-cookie', cookie]),
    ],
    body: '',
  };
}

export function jsonAnswer(status: number, body: object, headers: HeaderList = []): OwnAnswer {
  return {
    status,
    headers: ['content-type', 'application/json; charset=utf-8', 'cache-control', 'no-store', ...headers],
    body: JSON.stringify(body),
  };
}

/** The fragment never reaches a server: only a script can carry it over. Everything else is in the link. */
const SCRIPT =
  "const a=document.getElementById('go');location.replace(a.href+(location.hash.length>1?'&fragment='+encodeURIComponent(location.hash.slice(1)):''))";

/** Visible for a moment on the way to the provider. */
export function loginPage(goUrl: string): OwnAnswer {
  return htmlPage({
    title: 'Logging in',
    head: `<noscript><meta http-equiv="refresh" content="0; url=${escapedHtml(goUrl)}"></noscript>`,
    body: `<p>Redirecting to the login page. If nothing happens, use the button.</p>${linkButton('Continue', goUrl, 'go')}`,
    script: SCRIPT,
  });
}

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
