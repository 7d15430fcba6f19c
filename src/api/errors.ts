import { errorTable } from '../lib/errors.ts';

export const apiErrors = errorTable({
  ERR_POSTERN_UNAUTHENTICATED: {
    status: 401,
    explanation: 'The request carries no API key, or one that is not known. Send "Authorization: Bearer <API key>".',
  },
  ERR_POSTERN_VERSION: {
    status: 400,
    explanation: 'The request names no version of the API, or one that is not served here. Send "Service-Version: 2".',
  },
  ERR_POSTERN_UNKNOWN_PATH: {
    status: 404,
    explanation: 'There is nothing at this path. /docs and /openapi.json list what there is.',
  },
  ERR_POSTERN_METHOD_NOT_ALLOWED: {
    status: 405,
    explanation: 'The path exists, but not with this method. The Allow header names those that it takes.',
  },
  ERR_POSTERN_BODY_TOO_LARGE: { status: 413, explanation: 'The body is larger than 1 MiB.' },
  ERR_POSTERN_CONTENT_TYPE: {
    status: 415,
    explanation: 'The body is not declared as JSON. Send "Content-Type: application/json".',
  },
  ERR_POSTERN_INVALID_JSON: { status: 400, explanation: 'The body is not a JSON object in UTF-8.' },
  ERR_POSTERN_INVALID_HEADER: {
    status: 400,
    explanation: 'A request header has a value that cannot be understood. The message names it.',
  },
  ERR_POSTERN_BAD_REQUEST: {
    status: 400,
    explanation: 'The request is not well-formed HTTP for this API. The message says in which way.',
  },
  ERR_POSTERN_API_REQUEST_TIMEOUT: {
    status: 408,
    explanation: 'The request did not arrive completely in time. Send it again on a new connection.',
  },
  ERR_POSTERN_EXPECTATION: {
    status: 417,
    explanation: 'The Expect header asks for something other than "100-continue". Leave the header out.',
  },
  ERR_POSTERN_API_HEADERS_TOO_LARGE: {
    status: 431,
    explanation: 'The request line and the headers together are too large. Send fewer or shorter ones.',
  },
  ERR_POSTERN_STARTING: {
    status: 503,
    explanation:
      'The server is starting and does not know all API keys yet. Send the request again as Retry-After says.',
  },
  ERR_POSTERN_RATE_LIMITED: {
    status: 429,
    explanation: 'Too many requests, or too many failed logins from this address. Wait as long as Retry-After says.',
  },
  ERR_POSTERN_INTERNAL: {
    status: 500,
    explanation: 'Something went wrong that is not your fault. The log of the server has a line with the operation id.',
  },
});
