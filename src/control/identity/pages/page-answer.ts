import type { ErrorCode } from '../../../kit/errors.ts';
import { firstValue, type HeaderList } from '../../../kit/http/header-values.ts';
import { escapedHtml, linkButton, PAGE_STYLE_SOURCE, plainPage, sourceHash } from '../../../kit/http/plain-page.ts';
import type { WholeAnswer, WholeRequest } from '../../../kit/http/whole-request.ts';
import { readProgramFile } from '../../../kit/program-files.ts';
import { identityErrors } from '../errors.ts';

export interface IdentityPageContent {
  readonly title: string;
  /** HTML: the caller has escaped foreign text. */
  readonly body: string;
  readonly footer?: string;
  /** The page has a form with a ceremony. */
  readonly hasScript?: boolean;
  /** Where its forms lead in the end: to pages of this host, or back to an application on any host. */
  readonly formsLeadTo?: 'this host' | 'applications';
  /** The page's address has a secret: no request may name it. */
  readonly hasSecretAddress?: boolean;
}

/** Read once: `npm run generate` makes it. */
let script: string | null = null;

/**
 * Beside the style of plain pages: what forms and lists need. The colors have a contrast of more than 4.5:1 in both
 * modes.
 */
const FORM_STYLE = `
body{padding-top:10vh}
h2{font-size:1.125rem;margin:2rem 0 .5rem}
label{display:block;font-weight:600;margin-top:1rem}
input:not([type=hidden]){box-sizing:border-box;width:100%;font:inherit;padding:.55rem .75rem;margin-top:.35rem;border:1px solid light-dark(#6b6b6b,#9a9a9a);border-radius:.4rem;background:Field;color:FieldText}
.code{font-family:ui-monospace,monospace;letter-spacing:.15em;text-transform:uppercase}
.hint{font-size:.875rem;color:light-dark(#4a4a4a,#b8b8b8)}
.quiet{background:Canvas;color:CanvasText}
.small{padding:.25rem .75rem;margin-top:.35rem;font-size:.875rem}
form[aria-busy=true]{cursor:progress}
[role=alert]:not(:empty),[role=status]{margin-top:1rem;padding:.6rem .9rem;border-left:4px solid light-dark(#b3261e,#f2b8b5)}
[role=status]{border-left-color:light-dark(#146c2e,#6dd58c)}
ul.things{list-style:none;margin:0;padding:0}
ul.things>li{padding:.75rem 0;border-top:1px solid light-dark(#c8c8c8,#4a4a4a)}
ul.things>li:last-child{border-bottom:1px solid light-dark(#c8c8c8,#4a4a4a)}
.row{display:flex;flex-wrap:wrap;gap:.5rem;align-items:end}
.row input:not([type=hidden]){width:auto;flex:1 1 10rem;min-width:0}
.row label{flex:1 1 100%}
`;

const FORM_STYLE_SOURCE = sourceHash(FORM_STYLE);

const UNUSED_FEATURES = ['camera', 'geolocation', 'microphone', 'payment', 'usb', 'display-capture', 'serial', 'hid'];
const PERMISSIONS = [
  'publickey-credentials-create=(self)',
  'publickey-credentials-get=(self)',
  ...UNUSED_FEATURES.map((feature) => `${feature}=()`),
].join(', ');

/** One of our pages: nothing from elsewhere, not frameable, not cached. */
export function pageAnswer(
  page: IdentityPageContent,
  { status = 200, headers = [] }: { readonly status?: number; readonly headers?: HeaderList } = {},
): WholeAnswer {
  const code = page.hasScript === true ? loginScript() : null;
  return {
    status,
    headers: [
      ...['content-type', 'text/html; charset=utf-8'],
      ...['cache-control', 'no-store'],
      ...['content-security-policy', policy(page, code)],
      ...['x-frame-options', 'DENY'],
      ...['x-content-type-options', 'nosniff'],
      // Forms of a page without a referrer are sent with "Origin: null".
      ...['referrer-policy', page.hasSecretAddress === true ? 'no-referrer' : 'same-origin'],
      ...['permissions-policy', PERMISSIONS],
      ...['cross-origin-resource-policy', 'same-origin'],
      ...['x-robots-tag', 'noindex'],
      ...headers,
    ],
    body: plainPage({
      title: page.title,
      head: `<style>${FORM_STYLE}</style>`,
      body: page.body,
      ...(page.footer !== undefined && { footer: page.footer }),
      ...(code !== null && { script: code }),
    }),
  };
}

export function redirectAnswer(location: string, headers: HeaderList = []): WholeAnswer {
  return {
    status: 303,
    headers: [
      ...['location', location],
      ...['cache-control', 'no-store'],
      ...['referrer-policy', 'no-referrer'],
      ...headers,
    ],
    body: '',
  };
}

/** For the script of a page. */
export function jsonAnswer(status: number, body: object, headers: HeaderList = []): WholeAnswer {
  return {
    status,
    headers: [
      ...['content-type', 'application/json; charset=utf-8'],
      ...['cache-control', 'no-store'],
      ...['x-content-type-options', 'nosniff'],
      ...headers,
    ],
    body: JSON.stringify(body),
  };
}

function policy(page: IdentityPageContent, code: string | null): string {
  return [
    "default-src 'none'",
    `style-src ${PAGE_STYLE_SOURCE} ${FORM_STYLE_SOURCE}`,
    ...(code === null ? [] : [`script-src ${sourceHash(code)}`, "connect-src 'self'"]),
    // Browsers apply it to every redirect after the form, also to those of the application (CSP3 §6.4.2).
    `form-action ${page.formsLeadTo === 'applications' ? '*' : "'self'"}`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');
}

function loginScript(): string {
  script ??= readProgramFile('control/identity/pages/generated/sign-in.js');
  return script;
}

const TIME = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'long',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  timeZone: 'UTC',
});

/** As HTML. In UTC, until the script of the page shows the time of the person's browser. */
export function shownTime(ms: number): string {
  return `<time datetime="${new Date(ms).toISOString()}">${TIME.format(ms)} UTC</time>`;
}

type IdentityErrorCode = Extract<keyof typeof identityErrors.rows, ErrorCode>;

interface IdentityRefusal {
  readonly code: IdentityErrorCode;
  readonly title: string;
  /** The problem, and what to do. */
  readonly message: string;
  /** A link to go on with, on this host. */
  readonly action?: { readonly label: string; readonly href: string };
  readonly headers?: HeaderList;
}

/** A page for people; for the script of a page, JSON with the same message. */
export function refusalAnswer(request: WholeRequest, refusal: IdentityRefusal): WholeAnswer {
  const { code, title, message, action } = refusal;
  const { status } = identityErrors.rows[code];
  const headers = ['postern-error-code', code, ...(refusal.headers ?? [])];
  if (firstValue(request.headers, 'accept')?.includes('text/html') !== true) {
    return jsonAnswer(status, { error_code: code, status_code: status, message }, headers);
  }
  const page = {
    title,
    body: `<p>${escapedHtml(message)}</p>${action === undefined ? '' : linkButton(action.label, action.href)}`,
    footer: `<p><code>${code}</code><br>Request <code>${escapedHtml(request.id)}</code></p>`,
    // The page may stand at the address of an invitation.
    hasSecretAddress: true,
  };
  return pageAnswer(page, { status, headers });
}
