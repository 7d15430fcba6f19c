import { STATUS_CODES } from 'node:http';
import type { ErrorCode } from '../lib/errors.ts';
import type { JsonObject } from '../lib/json.ts';
import type { HeaderList } from './upstream/upstream.ts';

export interface ErrorAnswer {
  readonly status: number;
  readonly code: ErrorCode;
  /** What is wrong, and what the visitor can do. */
  readonly message: string;
  readonly headers?: HeaderList;
  /** For programs, beside the message. */
  readonly details?: JsonObject;
  /** For people: where to go on, on this host. */
  readonly action?: { readonly label: string; readonly href: string };
}

/** An answer of the edge's own: HTML for people, JSON for programs. */
export function errorPage(
  error: ErrorAnswer,
  requestId: string,
  accept: string | undefined,
): { headers: HeaderList; body: Buffer } {
  const isForPeople = accept?.includes('text/html') ?? false;
  const headers = [
    'content-type',
    isForPeople ? 'text/html; charset=utf-8' : 'application/json; charset=utf-8',
    'cache-control',
    'no-store',
    'postern-error-code',
    error.code,
    'postern-request-id',
    requestId,
    ...(error.headers ?? []),
  ];
  if (isForPeople) {
    const policy = [
      'content-security-policy',
      "default-src 'none'; style-src 'unsafe-inline'",
      'x-content-type-options',
      'nosniff',
    ];
    return { headers: [...headers, ...policy], body: Buffer.from(page(error, requestId)) };
  }
  const body = {
    error_code: error.code,
    status_code: error.status,
    msg: error.message,
    details: { ...error.details, request_id: requestId },
  };
  return { headers, body: Buffer.from(JSON.stringify(body)) };
}

function page(error: ErrorAnswer, requestId: string): string {
  const title = `${error.status} ${STATUS_CODES[error.status] ?? 'Error'}`;
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escaped(title)}</title>
<style>
:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:36rem;margin:18vh auto 0;padding:0 1.5rem}
h1{font-size:1.4rem;margin:0 0 .75rem}p{margin:.5rem 0}footer{margin-top:2rem;font-size:.85rem;opacity:.7}code{font-family:ui-monospace,monospace}
a.button{display:inline-block;padding:.5rem 1.1rem;margin-top:.75rem;border:1px solid;border-radius:.4rem;color:inherit;text-decoration:none}a.button:focus-visible{outline:3px solid Highlight;outline-offset:2px}
</style></head><body><h1>${escaped(title)}</h1><p>${escaped(error.message)}</p>${action(error)}
<footer><p><code>${escaped(error.code)}</code><br>Request <code>${escaped(requestId)}</code></p></footer></body></html>
`;
}

function action({ action: link }: ErrorAnswer): string {
  return link === undefined ? '' : `<p><a class="button" href="${escaped(link.href)}">${escaped(link.label)}</a></p>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
