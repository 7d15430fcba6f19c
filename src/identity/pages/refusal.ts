import type { ErrorCode } from '../../lib/errors.ts';
import { firstValue, type HeaderList } from '../../lib/http/header-list.ts';
import { escapedHtml, linkButton } from '../../lib/http/plain-page.ts';
import type { WholeAnswer, WholeRequest } from '../../lib/http/whole-request.ts';
import { identityErrors } from '../errors.ts';
import { jsonAnswer, pageAnswer } from './page-answer.ts';

export type IdentityErrorCode = Extract<keyof typeof identityErrors.rows, ErrorCode>;

export interface IdentityRefusal {
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
