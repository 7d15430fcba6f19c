import { errorTable } from '../../kit/errors.ts';

export const apiErrors = errorTable({
  ERR_POSTERN_UNAUTHENTICATED: {
    status: 401,
    explanation: 'The request has no API key or an unknown one. Send "Authorization: Bearer <API key>".',
  },
  ERR_POSTERN_VERSION: {
    status: 400,
    explanation: 'The request has no API version or an unsupported one. Send "Service-Version: 2".',
  },
  ERR_POSTERN_UNKNOWN_PATH: {
    status: 404,
    explanation: 'The path does not exist. /docs and /openapi.json list the available paths.',
  },
  ERR_POSTERN_METHOD_NOT_ALLOWED: {
    status: 405,
    explanation: 'The path does not support this method. The Allow header lists the supported methods.',
  },
  ERR_POSTERN_BODY_TOO_LARGE: {
    status: 413,
    explanation: 'The body is larger than 1 MiB; that of POST /changesets, larger than 64 MiB.',
  },
  ERR_POSTERN_CONTENT_TYPE: {
    status: 415,
    explanation: 'The body is not declared as JSON. Send "Content-Type: application/json".',
  },
  ERR_POSTERN_INVALID_JSON: {
    status: 400,
    explanation:
      'The body is not a JSON object in UTF-8, is nested more than 64 levels deep, or has more than 20,000 values (changesets: 4 million).',
  },
  ERR_POSTERN_INVALID_HEADER: {
    status: 400,
    explanation: 'A request header has an invalid value. The message names it.',
  },
  ERR_POSTERN_BAD_REQUEST: {
    status: 400,
    explanation: 'The request is not well-formed HTTP. The message names the problem.',
  },
  ERR_POSTERN_API_REQUEST_TIMEOUT: {
    status: 408,
    explanation: 'The request did not arrive completely in time. Send it again on a new connection.',
  },
  ERR_POSTERN_EXPECTATION: {
    status: 417,
    explanation: 'The Expect header has a value other than "100-continue". Remove the header.',
  },
  ERR_POSTERN_API_HEADERS_TOO_LARGE: {
    status: 431,
    explanation: 'The request line and the headers together are too large. Send fewer or shorter ones.',
  },
  ERR_POSTERN_STARTING: {
    status: 503,
    explanation:
      'The server is starting and has not loaded all API keys. Send the request again after the time in Retry-After.',
  },
  ERR_POSTERN_REVOCATIONS_UNKNOWN: {
    status: 503,
    explanation:
      'For more than five seconds this node has reached neither the database nor every other node, or it stood still and has not reached them since, so it does not know whether the API key or the session was revoked meanwhile. Nothing was done. Send the request to another node, or again after the time in Retry-After.',
  },
  ERR_POSTERN_RATE_LIMITED: {
    status: 429,
    explanation:
      'Too many requests, or too many failed authentications from this address. Wait for the time in Retry-After.',
  },
  ERR_POSTERN_TOO_MANY_LARGE_BODIES: {
    status: 503,
    explanation:
      'Other requests with bodies of more than 1 MiB are being received or run: at most four at a time, two of one API key. Send the request again after the time in Retry-After.',
  },
  ERR_POSTERN_INTERNAL: {
    status: 500,
    explanation: 'An internal error. The log of the server has a line with the operation id.',
  },
});
