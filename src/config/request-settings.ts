import { required } from '../lib/settings/setting.ts';
import { boolean, hinted, integer, textList } from '../lib/settings/setting-kinds.ts';

/** They carry passwords, tokens and logins. */
const SECRET_HEADERS: ReadonlySet<string> = new Set(['authorization', 'cookie', 'proxy-authorization']);

const keptHeaders = textList(
  'lowercase header names, except authorization, cookie and proxy-authorization',
  (value) => /^[a-z0-9_-]{1,64}$/.test(value) && !SECRET_HEADERS.has(value),
);

/** Settings of the access log and the request history. */
export const requestSettings = {
  access_log: required(boolean, {
    description: 'Log one line per request at the edge, without headers or query.',
  }),
  request_history: required(integer(0, 100_000), {
    description:
      'Number of finished requests that each node keeps in memory for GET /requests, at most 16 MiB of them. 0: none.',
  }),
  request_history_file: required(boolean, {
    description:
      'Keep the requests and the traffic of the last hour in a file of the data directory with mode 0600, so that a restart does not forget them. It has what GET /requests shows, at most 2,000 requests and 16 MiB, and is written once a minute.',
  }),
  request_history_headers: required(hinted('NAME,…', keptHeaders), {
    description:
      'Request headers to keep in the request history, each up to 512 characters. authorization, cookie and proxy-authorization are never kept.',
  }),
  request_history_query: required(boolean, {
    description:
      'Keep the query of each URL in the request history. Queries often contain tokens and personal data. Those of paths below /.postern/ are never kept.',
  }),
  request_id_header: required(boolean, {
    description:
      'Add the Postern-Request-Id header to responses of upstreams. Responses of the edge itself always have it.',
  }),
};
