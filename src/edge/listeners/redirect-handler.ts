import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { readPath } from '../../snapshot/canonical-path.ts';
import { errorPage } from '../error-page.ts';
import { type EdgeErrorCode, edgeErrors } from '../errors.ts';
import { readHostHeader } from './host-header.ts';

const HTTPS_PORT = 443;

export interface RedirectOptions {
  readonly hosts: { find(host: string): unknown };
  /** Of the HTTPS listener, as clients reach it. */
  readonly httpsPort: () => number;
  readonly newRequestId: () => string;
}

/**
 * Sends requests for the hosts of edges to HTTPS, with method and body (308), and knows no others: who asks for another host
 * learns nothing and is sent nowhere. No body is read, so the connection ends with the answer.
 */
export function createRedirectHandler(options: RedirectOptions): RequestListener {
  return (request, response) => {
    const host = readHostHeader(request.rawHeaders);
    if (host === null) {
      refuse(
        options,
        request,
        response,
        'ERR_POSTERN_BAD_HTTP',
        'The request does not name one host, in its usual form.',
      );
      return;
    }
    const target = request.url ?? '';
    const reading = readPath(target);
    if (!reading.ok) {
      refuse(options, request, response, 'ERR_POSTERN_BAD_PATH', `The request was refused: ${reading.why}.`);
      return;
    }
    if (options.hosts.find(host) === undefined) {
      refuse(options, request, response, 'ERR_POSTERN_NO_ROUTE', 'No site of this name is served here.');
      return;
    }
    const port = options.httpsPort();
    const location = `https://${host}${port === HTTPS_PORT ? '' : `:${port}`}${target}`;
    response.writeHead(308, { Location: location, 'Content-Length': 0, Connection: 'close' }).end();
  };
}

function refuse(
  options: RedirectOptions,
  request: IncomingMessage,
  response: ServerResponse,
  code: EdgeErrorCode,
  message: string,
): void {
  const { status } = edgeErrors.rows[code];
  const { headers, body } = errorPage({ status, code, message }, options.newRequestId(), request.headers.accept);
  response.writeHead(status, [...headers, 'content-length', String(body.length), 'connection', 'close']).end(body);
}
