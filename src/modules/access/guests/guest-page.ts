import { escapedHtml, PAGE_STYLE_SOURCE, plainPage } from '../../../lib/http/plain-page.ts';
import type { OwnAnswer } from '../../contract/serves-paths.ts';
import { GUEST_PATH } from '../../guest-link-secret.ts';
import type { GuestLink } from './guest-link.ts';

const UNTIL = new Intl.DateTimeFormat('en-GB', {
  weekday: 'long',
  day: 'numeric',
  month: 'long',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  timeZone: 'UTC',
});

const POLICY = [
  "default-src 'none'",
  `style-src ${PAGE_STYLE_SOURCE}`,
  // Not 'self': browsers apply it to every redirect after the form, also to those of the upstream (CSP3 §6.4.2).
  'form-action *',
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

const HEADERS = [
  ...['content-type', 'text/html; charset=utf-8'],
  ...['cache-control', 'no-store'],
  ...['content-security-policy', POLICY],
  ...['x-content-type-options', 'nosniff'],
  // The address has the secret.
  ...['referrer-policy', 'no-referrer'],
  ...['x-robots-tag', 'noindex'],
];

/** Shown before anything is spent: previews of messengers and prefetching browsers only see this. */
export function guestPage(link: GuestLink, secret: string): OwnAnswer {
  const until = `${UNTIL.format(link.expiresAtMs)} UTC`;
  const once =
    link.maxBrowsers === 1
      ? '<p>The link works in one browser. Continue in the browser that you want to use.</p>'
      : `<p>The link works in up to ${link.maxBrowsers} browsers.</p>`;
  const body = plainPage({
    title: 'You are invited as a guest',
    body: `<p>You may use <strong>${escapedHtml(link.host)}</strong> with this browser until <time>${escapedHtml(until)}</time>.</p>
${once}
<form method="post" action="${GUEST_PATH}"><input type="hidden" name="link" value="${escapedHtml(secret)}"><button class="button">Continue</button></form>`,
  });
  return { status: 200, headers: HEADERS, body };
}
