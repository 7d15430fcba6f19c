import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FastifyError } from 'fastify';
import { PosternError } from '../../kit/errors.ts';
import { closing, guarded, listen, listenOnce } from '../../kit/guarded-listeners.ts';
import { STATUS_CODES } from '../../kit/http/node-http.ts';
import { resourceErrors } from '../resources/errors.ts';
import { apiErrors } from './errors.ts';

const FRAMEWORK_ERRORS: ReadonlyMap<string, () => PosternError> = new Map([
  [
    'FST_ERR_CTP_BODY_TOO_LARGE',
    () =>
      apiErrors.create(
        'ERR_POSTERN_BODY_TOO_LARGE',
        'the body is larger than this path allows: 1 MiB (1048576 bytes), 64 MiB for /changesets',
      ),
  ],
  ['FST_ERR_CTP_INVALID_MEDIA_TYPE', contentTypeError],
  ['FST_ERR_CTP_INVALID_TYPE', contentTypeError],
  ['FST_ERR_CTP_EMPTY_TYPE', contentTypeError],
  [
    'FST_ERR_CTP_INVALID_CONTENT_LENGTH',
    () => apiErrors.create('ERR_POSTERN_BAD_REQUEST', 'the length of the body does not match Content-Length'),
  ],
  [
    'FST_ERR_BAD_URL',
    () =>
      apiErrors.create(
        'ERR_POSTERN_UNKNOWN_PATH',
        'the path is not a well-formed URL path: check its percent-encoding',
      ),
  ],
  [
    'FST_ERR_MAX_PARAM_LENGTH',
    () =>
      resourceErrors.create('ERR_POSTERN_NOT_FOUND', 'a segment of the path is longer than any id: check the address'),
  ],
]);

/**
 * Converts any thrown value into an error that may be shown. Messages of foreign errors are dropped: they could contain
 * anything.
 */
export function shownError(error: unknown): PosternError {
  if (error instanceof PosternError) return error;
  const code = (error as Partial<FastifyError>).code ?? '';
  const known = FRAMEWORK_ERRORS.get(code);
  if (known !== undefined) return known();
  return apiErrors.create(
    'ERR_POSTERN_INTERNAL',
    'internal error: see the line with this operation id in the log of the server',
    {
      cause: error,
    },
  );
}

/** Not a failure of the server, whatever broke first. */
export function cutOffError(cause: unknown): PosternError {
  return apiErrors.create('ERR_POSTERN_BAD_REQUEST', 'the connection ended before the body was complete', { cause });
}

export function contentTypeError(): PosternError {
  return apiErrors.create(
    'ERR_POSTERN_CONTENT_TYPE',
    'a body must be declared as JSON: send "Content-Type: application/json"',
  );
}

/** Existing clients crash unless every error has `msg`, `status_code` and an object `details`. */
export function errorBody(error: PosternError, operationId: string): string {
  return JSON.stringify({
    error_code: error.code,
    status_code: error.status,
    msg: error.message,
    details: { operation_id: operationId, ...error.details },
  });
}

/** Time for a client to read the response to a request that ends its connection. */
const LINGER_MS = 2000;

/** How much of a body is read that nobody wants, so that its client gets the response, and for how long. */
const READ_ON_BYTES = 128 * 1024 * 1024;
const READ_ON_MS = 30_000;

/**
 * Answers a request whose body is still arriving and is not wanted, and closes the connection when the body has
 * arrived. Closing a socket with unread bytes resets the connection: most clients send the whole body before they read,
 * and would lose the response.
 */
export function answerBeforeBody(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, body }: { readonly status: number; readonly headers: OutgoingHttpHeaders; readonly body: string },
): void {
  response.writeHead(status, { ...headers, connection: 'close', 'content-length': Buffer.byteLength(body) });
  // The runtime closes the connection at the end of the response, which the client knows by its length.
  response.write(body);
  const owner = closing(request.socket, 'API');
  let left = READ_ON_BYTES;
  const timer = setTimeout(
    guarded(owner, () => request.socket.destroy()),
    READ_ON_MS,
  );
  listen(request, 'data', owner, (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) request.socket.destroy();
  });
  listenOnce(request, 'end', owner, () => response.end());
  listenOnce(request, 'close', owner, () => clearTimeout(timer));
  request.resume();
}

interface Refused {
  readonly operationId: string;
  readonly status: number;
  readonly method: string;
  readonly path: string;
}

interface PlainRefusalsOptions {
  newOperationId(): string;
  onRefused(refused: Refused): void;
}

/** Sends errors in the documented form without the framework: before routing, and where no request was parsed. */
export class PlainRefusals {
  readonly #options: PlainRefusalsOptions;

  constructor(options: PlainRefusalsOptions) {
    this.#options = options;
  }

  answer(request: IncomingMessage, response: ServerResponse, error: PosternError): void {
    const { headers, body } = this.#refusal(error, request);
    response.writeHead(error.status, headers).end(body);
  }

  /**
   * Writes the response by hand and ends the connection. Remaining input is read for a moment: closing a socket with
   * unread bytes resets the connection, and the client would lose the response.
   */
  answerSocket(socket: Duplex, error: PosternError, request?: IncomingMessage): void {
    const { headers, body } = this.#refusal(error, request);
    const fields = Object.entries({ ...headers, date: new Date().toUTCString(), connection: 'close' });
    const head = [
      `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status] ?? ''}`,
      ...fields.map(([name, value]) => `${name}: ${value}`),
    ];
    const owner = closing(socket, 'API');
    listen(socket, 'error', owner, () => void socket.destroy());
    socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
    socket.resume();
    const timer = setTimeout(() => socket.destroy(), LINGER_MS);
    listenOnce(socket, 'close', owner, () => clearTimeout(timer));
  }

  #refusal(
    error: PosternError,
    request: IncomingMessage | undefined,
  ): { readonly headers: Record<string, string>; readonly body: string } {
    const operationId = this.#options.newOperationId();
    const body = errorBody(error, operationId);
    const { status } = error;
    this.#options.onRefused({
      operationId,
      status,
      method: request?.method ?? '',
      path: request?.url?.split('?')[0] ?? '',
    });
    return {
      headers: {
        ...error.headers,
        'postern-operation-id': operationId,
        'cache-control': 'no-store',
        'content-type': 'application/json; charset=utf-8',
        'content-length': String(Buffer.byteLength(body)),
      },
      body,
    };
  }
}
