import type { HeaderList } from '../../../lib/http/header-list.ts';
import { PAGE_STYLE_SOURCE, plainPage, sourceHash } from '../../../lib/http/plain-page.ts';
import type { OwnAnswer } from '../../contract/serves-paths.ts';

export interface Page {
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
export function htmlPage(page: Page, extraHeaders: HeaderList = [], status = 200): OwnAnswer {
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
