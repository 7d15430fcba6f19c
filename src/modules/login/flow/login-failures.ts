import type { Refusal, TrafficRequest } from '../../contract/decides.ts';
import type { OwnAnswer } from '../../contract/prepared-module.ts';
import { loginErrors } from '../errors.ts';
import type { LoginProblem } from '../provider/login-problem.ts';
import type { TooManyAttempts } from './login-attempts.ts';
import { loginUrl } from './return-target.ts';

/** Reasons that suggest a wrong clock, here or at the provider. */
const CLOCK_REASONS: ReadonlySet<string> = new Set(['id_token_expired', 'id_token_issued_at', 'id_token_not_before']);

const STORE_RETRY_SECONDS = 5;

type Code = keyof typeof loginErrors.rows;

const TITLES: Readonly<Partial<Record<Code, string>>> = {
  ERR_POSTERN_LOGIN_DENIED: 'The login was denied',
  ERR_POSTERN_LOGIN_FAILED: 'The login failed',
  ERR_POSTERN_PROVIDER_UNAVAILABLE: 'Login is not possible at the moment',
  ERR_POSTERN_LOGIN_RATE_LIMITED: 'Too many logins',
  ERR_POSTERN_LOGIN_BUSY: 'Login is not possible at the moment',
  ERR_POSTERN_LOGIN_UNAVAILABLE: 'Login is not possible at the moment',
  ERR_POSTERN_LOGIN_COOKIES: 'The login requires cookies',
  ERR_POSTERN_LOGIN_LOOP: 'The login is stuck in a loop',
};

interface FailureOptions {
  /** Return path of a new login. */
  readonly tryAgain?: string;
  /** Path and query to request again: the failure has changed nothing. */
  readonly reload?: string;
  readonly cookies?: readonly string[];
  readonly retryAfterSeconds?: number;
}

/** A page that explains what happened and what to do. */
export function failed(
  code: Code,
  reason: string,
  message: string,
  options: FailureOptions = {},
): { readonly refusal: Refusal } {
  const title = TITLES[code];
  const refusal: Refusal = {
    status: loginErrors.rows[code].status,
    code,
    reason,
    message,
    ...(title !== undefined && { title }),
    ...(options.tryAgain !== undefined && {
      action: { label: 'Try again', href: loginUrl(options.tryAgain) },
      details: { login_url: loginUrl(options.tryAgain) },
    }),
    ...(options.reload !== undefined && { action: { label: 'Try again', href: options.reload } }),
    headers: [
      ...(options.cookies ?? []).flatMap((cookie) => ['set-cookie', cookie]),
      ...(options.retryAfterSeconds === undefined ? [] : ['retry-after', String(options.retryAfterSeconds)]),
    ],
  };
  return { refusal };
}

/** A failure between us and the provider, as a message for the visitor; the operator's is in the log. */
export function failedAtProvider(problem: LoginProblem, tryAgain: string, cookies: readonly string[] = []): OwnAnswer {
  const options = { tryAgain, cookies };
  switch (problem.kind) {
    case 'unreachable':
      return failed(
        'ERR_POSTERN_PROVIDER_UNAVAILABLE',
        problem.reason,
        'The identity provider cannot be reached. Try again in a minute. If the problem persists, contact the operator of this site.',
        options,
      );
    case 'denied':
      return failed(
        'ERR_POSTERN_LOGIN_DENIED',
        problem.reason,
        'The identity provider denied the login. If you canceled it or used the wrong account, try again; otherwise ask the operator of this site for access.',
        options,
      );
    case 'configuration':
      return failed(
        'ERR_POSTERN_LOGIN_FAILED',
        problem.reason,
        'The login is not configured correctly. Contact the operator of this site: the log has the details under the request id below.',
        options,
      );
    case 'provider':
    case 'token':
    case 'invalid_grant':
      return failed(
        'ERR_POSTERN_LOGIN_FAILED',
        problem.reason,
        CLOCK_REASONS.has(problem.reason)
          ? 'The login failed: the clocks of this site and of the identity provider differ too much. Contact the operator of this site.'
          : 'The login failed: the response of the identity provider cannot be trusted. Try again. If the problem persists, contact the operator of this site with the request id below.',
        options,
      );
  }
}

/** The login in progress stays valid: after the wait, the same callback completes it. */
export function tooManyAttempts({ limit, retryAfterSeconds }: TooManyAttempts, reload: string): OwnAnswer {
  const [code, cause] =
    limit === 'address'
      ? (['ERR_POSTERN_LOGIN_RATE_LIMITED', 'Too many logins from your address or network have failed.'] as const)
      : (['ERR_POSTERN_LOGIN_BUSY', 'Too many logins have failed at the identity provider.'] as const);
  return failed(code, `attempts_${limit}`, `${cause} Try again in ${retryAfterSeconds} s.`, {
    reload,
    retryAfterSeconds,
  });
}

/** Nothing was changed: logged-in users stay so, and a login in progress can continue when the store is back. */
export function storeUnavailable(request: TrafficRequest): { readonly refusal: Refusal } {
  return failed(
    'ERR_POSTERN_LOGIN_UNAVAILABLE',
    'store_away',
    'The database of this site cannot be reached at the moment, so logins cannot be checked, started or ended. Nothing was changed. Try again in a few seconds.',
    {
      ...((request.method === 'GET' || request.method === 'HEAD') && { reload: request.target }),
      retryAfterSeconds: STORE_RETRY_SECONDS,
    },
  );
}
