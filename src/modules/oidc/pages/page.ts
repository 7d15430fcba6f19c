import { hash } from 'node:crypto';
import type { HeaderList, OwnAnswer } from '../../prepared-module.ts';

const STYLE =
  ':root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:36rem;margin:18vh auto 0;padding:0 1.5rem}h1{font-size:1.4rem;margin:0 0 .75rem}p{margin:.5rem 0}a.button,button{display:inline-block;font:inherit;padding:.5rem 1.1rem;margin-top:.75rem;border:1px solid;border-radius:.4rem;color:inherit;background:none;text-decoration:none;cursor:pointer}a.button:focus-visible,button:focus-visible{outline:3px solid Highlight;outline-offset:2px}';

export interface Page {
  readonly title: string;
  /** HTML: whatever comes from outside was escaped. */
  readonly body: string;
  readonly head?: string;
  /** The only script that may run. */
  readonly script?: string;
  /** The page has a form that posts to this host. */
  readonly hasForm?: boolean;
}

/** A page of ours: nothing from elsewhere, nothing that can be framed, nothing that is kept. */
export function htmlPage(page: Page, extraHeaders: HeaderList = [], status = 200): OwnAnswer {
  const script = page.script === undefined ? '' : `<script>${page.script}</script>`;
  const policy = [
    "default-src 'none'",
    `style-src '${sourceHash(STYLE)}'`,
    ...(page.script === undefined ? [] : [`script-src '${sourceHash(page.script)}'`]),
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
      // A form on a page without one is sent with "Origin: null", which says nothing.
      page.hasForm === true ? 'same-origin' : 'no-referrer',
      ...extraHeaders,
    ],
    body: `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${page.title}</title>
<style>${STYLE}</style>${page.head ?? ''}</head><body><main><h1>${page.title}</h1>${page.body}</main>${script}</body></html>
`,
  };
}

export function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
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

function sourceHash(source: string): string {
  return `sha256-${hash('sha256', source, 'base64')}`;
}
