import type { HeaderList } from '../../lib/http/header-list.ts';
import { PAGE_STYLE_SOURCE, plainPage, sourceHash } from '../../lib/http/plain-page.ts';
import type { WholeAnswer } from '../../lib/http/whole-request.ts';
import { readProgramFile } from '../../lib/program-files.ts';
import { FORM_STYLE } from './form-style.ts';

export interface IdentityPageContent {
  readonly title: string;
  /** HTML: the caller has escaped foreign text. */
  readonly body: string;
  readonly footer?: string;
  /** It has a form with a ceremony. */
  readonly hasScript?: boolean;
  /** Where its forms lead in the end: to pages of this host, or back to an application on any host. */
  readonly formsLeadTo?: 'this host' | 'applications';
  /** Its address has a secret: no request may name it. */
  readonly hasSecretAddress?: boolean;
}

/** Read once: `npm run generate` makes it. */
let script: string | null = null;

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
  const code = page.hasScript === true ? signInScript() : null;
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

function signInScript(): string {
  script ??= readProgramFile('identity/pages/generated/sign-in.js');
  return script;
}
