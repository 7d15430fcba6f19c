import type { UpstreamFailure } from '../../upstream/upstream.ts';
import {
  REASON_OF_SHORTAGE,
  REQUEST_TOO_LARGE,
  RESPONSE_TOO_LARGE,
  TOO_MANY_FILES,
  UNSENDABLE_REQUEST,
  UPSTREAM_SHORTAGE,
} from '../../upstream/upstream-failure.ts';
import type { ErrorAnswer } from '../answers/error-page.ts';
import { type EdgeErrorCode, edgeErrors } from '../errors.ts';
import {
  NO_FOLDER,
  NO_TUNNEL,
  NODE_ISOLATED,
  OUT_OF_FILES,
  reasonText,
  TUNNEL_FULL,
  TUNNEL_SHARE,
} from '../tunnels/tunnel-failures.ts';

const RETRY_AFTER_SECONDS = '1';
const RETRY_AFTER = ['retry-after', RETRY_AFTER_SECONDS];

const UPSTREAM_FULL: ErrorAnswer = {
  ...answer(
    'ERR_POSTERN_UPSTREAM_FULL',
    'This server has as many requests to the upstream server of this site in progress as it can. Try again in a moment.',
  ),
  headers: RETRY_AFTER,
};
/** The rest of the connections is for others. */
const UPSTREAM_SHARE: ErrorAnswer = {
  ...UPSTREAM_FULL,
  message:
    'Your network address has so many requests in progress that the rest is left to others. Close some, or try again in a moment.',
};

/** Another target may get the request only if this one certainly did not, or if that does not matter. */
export function mayTryNext(failure: UpstreamFailure): boolean {
  return failure.phase === 'connect' || !failure.mayHaveBeenSent || failure.isSafe === true;
}

/** The visitor's message; the exact cause is in the operator's log. */
export function failureAnswer(failure: UpstreamFailure): ErrorAnswer {
  if (failure.reason === 'timeout' && failure.phase !== 'connect') {
    return answer(
      'ERR_POSTERN_UPSTREAM_TIMEOUT',
      'The upstream server of this site did not respond in time. Try again later.',
    );
  }
  if (failure.reason === UNSENDABLE_REQUEST) {
    return answer(
      'ERR_POSTERN_BAD_HTTP',
      'The request was rejected: it cannot be forwarded to the upstream server of this site unchanged.',
    );
  }
  if (failure.reason === REQUEST_TOO_LARGE) {
    return answer(
      'ERR_POSTERN_HEADERS_TOO_LARGE',
      'The request was rejected: its headers are too large to be forwarded to the upstream server of this site.',
    );
  }
  const { agentAddress } = failure;
  if (agentAddress !== undefined) {
    const remedy =
      failure.reason === OUT_OF_FILES
        ? "raise the agent's limit of open files"
        : failure.reason === NO_FOLDER
          ? 'check the folder on the machine of the agent'
          : 'start the service that the agent forwards to';
    return answer(
      failure.phase === 'connect' ? 'ERR_POSTERN_UPSTREAM_UNREACHABLE' : 'ERR_POSTERN_UPSTREAM_BROKEN',
      `The agent could not reach ${agentAddress}: ${reasonText(failure.reason)}. The operator of this site must ${remedy}.`,
    );
  }
  if (failure.reason === RESPONSE_TOO_LARGE) {
    return answer(
      'ERR_POSTERN_UPSTREAM_BROKEN',
      'The upstream server of this site sent a response whose headers are too large. Its operator must make them smaller.',
    );
  }
  if (failure.reason === TOO_MANY_FILES) {
    const overloaded = answer('ERR_POSTERN_EDGE_OVERLOADED', 'This server is overloaded. Try again in a moment.');
    return { ...overloaded, headers: RETRY_AFTER };
  }
  if (failure.reason === UPSTREAM_SHORTAGE.full) return UPSTREAM_FULL;
  if (failure.reason === UPSTREAM_SHORTAGE.share) return UPSTREAM_SHARE;
  if (failure.reason === NO_FOLDER) {
    return answer(
      'ERR_POSTERN_UPSTREAM_UNREACHABLE',
      'The folder of this site cannot be served. Its operator must check that it exists, and that the setting file_roots of this server lists it.',
    );
  }
  if (failure.reason === 'no_tunnel') return NO_TUNNEL;
  if (failure.reason === REASON_OF_SHORTAGE.full) return TUNNEL_FULL;
  if (failure.reason === REASON_OF_SHORTAGE.share) return TUNNEL_SHARE;
  if (failure.reason === 'node_isolated') return NODE_ISOLATED;
  if (failure.phase === 'connect') {
    return answer(
      'ERR_POSTERN_UPSTREAM_UNREACHABLE',
      'The upstream server of this site cannot be reached. Try again later.',
    );
  }
  return answer(
    'ERR_POSTERN_UPSTREAM_BROKEN',
    'The upstream server of this site sent an invalid response. Try again later.',
  );
}

function answer(code: EdgeErrorCode, message: string): ErrorAnswer {
  return { status: edgeErrors.rows[code].status, code, message };
}
