import type { ErrorCode } from '../../../kit/errors.ts';
import type { HeaderList } from '../../../kit/http/header-values.ts';
import { STATUS_CODES } from '../../../kit/http/node-http.ts';
import { escapedHtml, linkButton, PAGE_STYLE_SOURCE, plainPage } from '../../../kit/http/plain-page.ts';
import type { JsonObject } from '../../../kit/json.ts';

export interface ErrorAnswer {
  readonly status: number;
  readonly code: ErrorCode;
  /** The problem, and what the visitor can do. */
  readonly message: string;
  /** Heading for people, instead of the status. */
  readonly title?: string;
  /** What to do, one step each. */
  readonly advice?: readonly string[];
  readonly headers?: HeaderList;
  /** For programs, beside the message. */
  readonly details?: JsonObject;
  /** For people: a link to continue with, on this host. */
  readonly action?: { readonly label: string; readonly href: string };
}

/** A response of the edge itself: HTML for people, JSON for programs. */
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
      `default-src 'none'; style-src ${PAGE_STYLE_SOURCE}; form-action 'none'; base-uri 'none'; frame-ancestors 'none'`,
      'x-content-type-options',
      'nosniff',
    ];
    return { headers: [...headers, ...policy], body: Buffer.from(page(error, requestId)) };
  }
  const body = {
    error_code: error.code,
    status_code: error.status,
    msg: [error.message, ...(error.advice ?? [])].join(' '),
    details: { ...error.details, request_id: requestId },
  };
  return { headers, body: Buffer.from(JSON.stringify(body)) };
}

function page(error: ErrorAnswer, requestId: string): string {
  const status = `${error.status} ${STATUS_CODES[error.status] ?? 'Error'}`;
  const { action, title, advice = [] } = error;
  const steps = advice.map((step) => `<li>${escapedHtml(step)}</li>`).join('');
  return plainPage({
    title: title ?? status,
    body: `<p>${escapedHtml(error.message)}</p>${steps === '' ? '' : `<ul>${steps}</ul>`}${action === undefined ? '' : linkButton(action.label, action.href)}`,
    footer: `<p>${title === undefined ? '' : `${escapedHtml(status)}<br>`}<code>${escapedHtml(error.code)}</code><br>Request <code>${escapedHtml(requestId)}</code></p>`,
  });
}
