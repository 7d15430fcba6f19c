import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { PosternError } from '../lib/errors.ts';
import { closing, guarded, listen, listenOnce } from '../lib/guarded-listeners.ts';
import { STATUS_CODES } from '../lib/http/node-http.ts';
import { errorBody } from './error-response.ts';

/** Time for a client to read the response to a request that ends its connection. */
const LINGER_MS = 2000;

/** How much of a body is read that nobody wants, so that its client gets the response, and for how long. */
const READ_ON_BYTES = 128 * 1024 * 1024;
const READ_ON_MS = 30_000;

/**
 * Answers a request whose body is still arriving and is not wanted, and closes the connection when the body has arrived. Closing a socket with
 * unread bytes resets the connection: most clients send the whole body before they read, and would lose the response.
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

export interface Refused {
  readonly operationId: string;
  readonly status: number;
  readonly method: string;
  readonly path: string;
}

export interface PlainRefusalsOptions {
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
