import { isIPv4 } from 'node:net';
import { hostNameProblem } from '../../lib/host-name.ts';
import type { ConnectionFacts } from '../connection-facts.ts';
import { errorPage } from '../error-page.ts';
import { type EdgeErrorCode, edgeErrors } from '../errors.ts';
import type { RequestHead } from '../http/request-head.ts';
import type { ResponseWriter } from '../http/response-writer.ts';

const HTTPS_PORT = 443;
const NOTHING = Buffer.alloc(0);

export interface RedirectOptions {
  readonly hosts: { find(host: string): unknown };
  /** Port of the HTTPS listener as clients see it. */
  readonly httpsPort: () => number;
  readonly newRequestId: () => string;
}

export interface PlainRequest {
  readonly head: RequestHead;
  readonly writer: ResponseWriter;
  readonly accept: string | undefined;
}

/**
 * Redirects requests for the hosts of edges to HTTPS, with method and body (308). A request for any other host learns
 * nothing and is not redirected. No body is read, so the connection ends with the response.
 */
export function redirectToHttps(
  options: RedirectOptions,
  connection: ConnectionFacts,
  { head, writer, accept }: PlainRequest,
): void {
  const { host, path } = head;
  connection.retire();
  const refuse = (code: EdgeErrorCode, message: string): void => {
    const { status } = edgeErrors.rows[code];
    const { headers, body } = errorPage({ status, code, message }, options.newRequestId(), accept);
    writer.answer(status, headers, body);
  };
  if (!isIPv4(host) && hostNameProblem(host, 'refused') !== null) {
    refuse('ERR_POSTERN_BAD_HTTP', 'The request has no valid host.');
  } else if (options.hosts.find(host) === undefined) {
    refuse('ERR_POSTERN_NO_ROUTE', 'This server has no site with this name.');
  } else {
    const httpsPort = options.httpsPort();
    const location = `https://${host}${httpsPort === HTTPS_PORT ? '' : `:${httpsPort}`}${path.target}`;
    writer.answer(308, ['location', location, 'postern-request-id', options.newRequestId()], NOTHING);
  }
}
