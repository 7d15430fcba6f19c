import type { ErrorAnswer } from './error-page.ts';
import { type EdgeErrorCode, edgeErrors } from './errors.ts';
import type { UpstreamFailure } from './upstream/upstream.ts';

/** Another target may get the request only when it is certain that this one did not. */
export function mayTryNext(failure: UpstreamFailure): boolean {
  return failure.phase === 'connect' || !failure.mayHaveBeenSent;
}

/** What the visitor is told; what exactly went wrong is in the operator's log. */
export function failureAnswer(failure: UpstreamFailure): ErrorAnswer {
  if (failure.reason === 'timeout' && failure.phase !== 'connect') {
    return answer(
      'ERR_POSTERN_UPSTREAM_TIMEOUT',
      'The server behind this site did not answer in time. Try again later.',
    );
  }
  if (failure.phase === 'connect') {
    return answer(
      'ERR_POSTERN_UPSTREAM_UNREACHABLE',
      'The server behind this site cannot be reached. Try again later.',
    );
  }
  return answer('ERR_POSTERN_UPSTREAM_BROKEN', 'The server behind this site gave no proper answer. Try again later.');
}

function answer(code: EdgeErrorCode, message: string): ErrorAnswer {
  return { status: edgeErrors.rows[code].status, code, message };
}
