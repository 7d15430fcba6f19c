import { isIPv4 } from 'node:net';
import { hostNameProblem } from '../../../kit/net/host-name.ts';
import { errorPage } from '../answers/error-page.ts';
import type { ConnectionFacts } from '../connections/connection-facts.ts';
import { type EdgeErrorCode, edgeErrors } from '../errors.ts';
import type { EarlyAnswer, EarlyAnswers } from '../forwarding/early-answers.ts';
import type { IncomingRequest, ResponseWriter } from '../http/incoming-request.ts';
import type { RequestHead } from '../http/request-head.ts';
import type { UnknownNameAnswer } from '../reports/request-reports.ts';
import type { AcmeChallenge } from '../tls/acme-challenges.ts';

const HTTPS_PORT = 443;
const REDIRECT = 308;
const NOTHING = Buffer.alloc(0);

export interface RedirectOptions {
  readonly hosts: { find(host: string): { readonly id: string } | undefined };
  /** Port of the HTTPS listener as clients see it. */
  readonly httpsPort: () => number;
  readonly newRequestId: () => string;
  readonly answers: Pick<EarlyAnswers, 'redirected'>;
  readonly unknownName: (connection: ConnectionFacts, head: RequestHead, answer: UnknownNameAnswer) => void;
}

/**
 * Redirects requests for the hosts of edges to HTTPS, with method and body (308). A request for any other host learns
 * nothing and is not redirected. No body is read, so the connection ends with the response.
 */
export function redirectToHttps(
  options: RedirectOptions,
  connection: ConnectionFacts,
  head: RequestHead,
  request: IncomingRequest,
): void {
  const { host, path } = head;
  const { writer, accept } = request;
  const id = options.newRequestId();
  connection.retire();
  const refuse = (code: EdgeErrorCode, message: string): UnknownNameAnswer => {
    const { status } = edgeErrors.rows[code];
    const { headers, body } = errorPage({ status, code, message }, id, accept);
    writer.answer(status, headers, body);
    return { id, status, code, bytesOut: body.length };
  };
  if (!isIPv4(host) && hostNameProblem(host, 'refused') !== null) {
    const refused = refuse('ERR_POSTERN_BAD_HTTP', 'The request has no valid host.');
    options.answers.redirected(connection, request, refused, null);
    return;
  }
  const edge = options.hosts.find(host);
  if (edge === undefined) {
    const refused = refuse('ERR_POSTERN_NO_ROUTE', 'This server has no site with this name.');
    options.unknownName(connection, head, refused);
    return;
  }
  const httpsPort = options.httpsPort();
  const location = `https://${host}${httpsPort === HTTPS_PORT ? '' : `:${httpsPort}`}${path.target}`;
  writer.answer(REDIRECT, ['location', location, 'postern-request-id', id], NOTHING);
  options.answers.redirected(connection, request, { id, status: REDIRECT, code: null, bytesOut: 0 }, edge.id);
}

const OK = 200;

/** Answers http-01 (RFC 8555 §8.3). No body is read, so the connection ends with the response. */
export function answerChallenge(
  { keyAuthorization }: AcmeChallenge,
  connection: ConnectionFacts,
  writer: ResponseWriter,
  requestId: string,
): EarlyAnswer {
  connection.retire();
  const headers = ['content-type', 'text/plain', 'cache-control', 'no-store', 'postern-request-id', requestId];
  const body = Buffer.from(keyAuthorization);
  writer.answer(OK, headers, body);
  return { id: requestId, status: OK, code: null, bytesOut: body.length };
}
