import { isJsonObject, type JsonValue } from '../../../kit/json.ts';
import { shownText } from '../../../kit/text/terminal-text.ts';
import type { AcmeErrorCode } from '../errors.ts';

interface AcmeFailureOptions {
  /** Last part of the problem type of RFC 8555 §6.7, such as `badNonce`. */
  readonly problem?: string | null;
  /** The server asks not to be contacted for this about before this time. */
  readonly retryAtMs?: number | null;
  /** The order may still succeed: it is continued instead of being repeated. */
  readonly isOrderAlive?: boolean;
}

/** Why there is no certificate. The message is for people and contains no key. */
export class AcmeFailure extends Error {
  readonly code: AcmeErrorCode;
  readonly problem: string | null;
  readonly retryAtMs: number | null;
  readonly isOrderAlive: boolean;

  constructor(code: AcmeErrorCode, message: string, options: AcmeFailureOptions = {}) {
    super(message);
    this.name = 'AcmeFailure';
    this.code = code;
    this.problem = options.problem ?? null;
    this.retryAtMs = options.retryAtMs ?? null;
    this.isOrderAlive = options.isOrderAlive ?? false;
  }
}

const PREFIX = 'urn:ietf:params:acme:error:';

/** Problem types (RFC 8555 §6.7) by our code; all others reject the order. */
const CODES: Readonly<Record<string, AcmeErrorCode>> = {
  rateLimited: 'ERR_POSTERN_ACME_RATE_LIMITED',
  serverInternal: 'ERR_POSTERN_ACME_RESPONSE',
  badNonce: 'ERR_POSTERN_ACME_RESPONSE',
  accountDoesNotExist: 'ERR_POSTERN_ACME_ACCOUNT',
  externalAccountRequired: 'ERR_POSTERN_ACME_ACCOUNT',
  invalidContact: 'ERR_POSTERN_ACME_ACCOUNT',
  unsupportedContact: 'ERR_POSTERN_ACME_ACCOUNT',
  userActionRequired: 'ERR_POSTERN_ACME_ACCOUNT',
  connection: 'ERR_POSTERN_ACME_CHALLENGE',
  dns: 'ERR_POSTERN_ACME_CHALLENGE',
  incorrectResponse: 'ERR_POSTERN_ACME_CHALLENGE',
  tls: 'ERR_POSTERN_ACME_CHALLENGE',
};

export interface Problem {
  /** Without the common prefix. */
  readonly type: string;
  readonly detail: string;
}

/** A problem document (RFC 9457), as far as it can be read. */
export function problemOf(json: JsonValue | undefined): Problem | null {
  if (!isJsonObject(json)) return null;
  const { type, detail } = json;
  if (typeof type !== 'string' && typeof detail !== 'string') return null;
  const name = typeof type === 'string' ? type : 'about:blank';
  return {
    type: shownText(name.startsWith(PREFIX) ? name.slice(PREFIX.length) : name),
    detail: shownText(typeof detail === 'string' ? detail : ''),
  };
}

export function problemText({ type, detail }: Problem): string {
  return detail === '' ? type : `${detail} (${type})`;
}

interface FailedAnswer {
  readonly status: number;
  readonly problem: Problem | null;
  readonly retryAtMs: number | null;
  /** What was attempted, such as "rejected the order". */
  readonly action: string;
}

export function failureOf(host: string, { status, problem, retryAtMs, action }: FailedAnswer): AcmeFailure {
  const isServers = status >= 500 || status < 400;
  const known = problem !== null && Object.hasOwn(CODES, problem.type) ? CODES[problem.type] : undefined;
  const code: AcmeErrorCode =
    known ??
    (status === 429
      ? 'ERR_POSTERN_ACME_RATE_LIMITED'
      : isServers || problem === null
        ? 'ERR_POSTERN_ACME_RESPONSE'
        : 'ERR_POSTERN_ACME_REJECTED');
  const reason = problem === null ? `HTTP status ${status}` : problemText(problem);
  const text = `${host} ${action}: ${reason}${status >= 300 && status < 400 ? '; redirects are not followed' : ''}`;
  return new AcmeFailure(code, text, { problem: problem?.type ?? null, retryAtMs, isOrderAlive: isServers });
}
