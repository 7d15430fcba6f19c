import type { Reference } from '../../schema/load-by-ids.ts';
import type { Decision } from '../traffic/request-record.ts';

export interface Target {
  readonly name: string;
  readonly kind: string;
  readonly node?: string;
  readonly forwards_to?: string;
}

export interface Explanation {
  readonly edge: Reference | null;
  readonly route: Reference | null;
  readonly candidates: readonly { readonly route: Reference; readonly why_not: string }[];
  readonly decisions: readonly Decision[];
  readonly outcome: {
    readonly status?: number;
    readonly error_code?: string;
    readonly location?: string;
    readonly targets: readonly Target[];
    readonly node?: string;
  };
  readonly upstream_request: {
    readonly headers_added: Readonly<Record<string, string>>;
    readonly headers_removed: readonly string[];
    readonly target?: string;
  } | null;
}

export interface Question {
  readonly url: string;
  readonly method: string;
  readonly address: string;
  readonly email: string;
  readonly claims: string;
  readonly headers: string;
  /** PEM of the client's certificate, and of those that it sends along. */
  readonly certificate: string;
}

/** The body of POST /explain; a text names the first field that cannot be sent. */
export function explainBody(question: Question): Record<string, unknown> | string {
  const { url, method, address, email } = question;
  const headers: Record<string, string[]> = {};
  for (const line of question.headers.split('\n')) {
    if (line.trim() === '') continue;
    const colon = line.indexOf(':');
    if (colon < 1) return `Headers: "${line}" is not of the form "name: value".`;
    const name = line.slice(0, colon).trim();
    headers[name] = [...(headers[name] ?? []), line.slice(colon + 1).trim()];
  }
  let claims: unknown = {};
  try {
    if (question.claims.trim() !== '') claims = JSON.parse(question.claims);
  } catch {
    return 'Claims: this is not JSON. Example: {"groups": ["ops"]}';
  }
  return {
    url,
    method,
    ...(Object.keys(headers).length > 0 && { headers }),
    ...(address !== '' && { address }),
    ...(question.certificate.trim() !== '' && { client_certificate_pem: question.certificate }),
    ...((email !== '' || question.claims.trim() !== '') && { as: { email, claims } }),
  };
}
