import type { Server as HttpServer, IncomingMessage, ServerResponse } from 'node:http';
import type { Server as HttpsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { PosternError } from '../../kit/errors.ts';
import { closing, type ListenerOwner, listenPer } from '../../kit/guarded-listeners.ts';
import type { PlainRefusals } from './error-response.ts';
import { apiErrors } from './errors.ts';

export interface ProtocolErrorAnswers {
  readonly refusals: PlainRefusals;
  readonly refusePath: RefusePath;
}

/**
 * Responds with a documented error where Node would send no body or nothing: requests that its parser rejects,
 * expectations, CONNECT. Existing clients crash on an error that is not JSON.
 */
export function answerProtocolErrors(server: HttpServer | HttpsServer, answers: () => ProtocolErrorAnswers): void {
  const latest = new WeakMap<Duplex, ServerResponse>();
  const refused = new WeakSet<Duplex>();
  const ownerOf = ({ socket }: IncomingMessage): ListenerOwner => closing(socket, 'API');
  const ownerOfSocket = (_error: ParserError, socket: Socket): ListenerOwner => closing(socket, 'API');

  listenPer(server, 'request', ownerOf, (request: IncomingMessage, response: ServerResponse) => {
    latest.set(request.socket, response);
  });
  listenPer(server, 'checkExpectation', ownerOf, (request: IncomingMessage, response: ServerResponse) => {
    answers().refusals.answer(request, response, expectationFailed());
  });
  listenPer(server, 'connect', ownerOf, (request: IncomingMessage, socket: Duplex) => {
    const { refusals, refusePath } = answers();
    refusals.answerSocket(socket, refusePath('CONNECT', request.url ?? ''), request);
  });
  listenPer(server, 'clientError', ownerOfSocket, (error: ParserError, socket: Socket) => {
    // The parser reports again for the bytes that follow.
    if (refused.has(socket)) return;
    refused.add(socket);
    const response = latest.get(socket);
    const pending = response === undefined || response.writableFinished ? undefined : response;
    // A response written now would be taken for the one to an earlier request.
    const isOutOfTurn = pending !== undefined && !isReading(pending);
    if (!socket.writable || error.code === 'ECONNRESET' || isOutOfTurn) {
      socket.destroy();
      return;
    }
    const { refusals, refusePath } = answers();
    refusals.answerSocket(socket, parserRefusal(error, refusePath), pending?.req);
  });
}

/**
 * The request's body is still arriving, so the error concerns this request. A response behind others has no socket yet.
 */
function isReading(response: ServerResponse): boolean {
  return !response.req.complete && !response.headersSent && response.socket !== null;
}

function expectationFailed(): PosternError {
  return apiErrors.create(
    'ERR_POSTERN_EXPECTATION',
    'the only supported expectation is "100-continue": remove the Expect header',
  );
}

/** The error that Node's HTTP parser reports with `clientError`. */
interface ParserError extends Error {
  readonly code?: string;
  /** The bytes being parsed; they may start with earlier requests of the connection. */
  readonly rawPacket?: Buffer;
  readonly bytesParsed?: number;
}

const REQUEST_LINE = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]{1,64}) (\/[\x21-\x7e]*) HTTP\/1\.[01]\r?$/;

export type RefusePath = (method: string, url: string) => PosternError;

/**
 * Why a request could not be parsed. `refusePath` distinguishes an unknown method on a known path from an unknown path.
 */
function parserRefusal(error: ParserError, refusePath: RefusePath): PosternError {
  switch (error.code ?? '') {
    case 'HPE_HEADER_OVERFLOW':
      return apiErrors.create(
        'ERR_POSTERN_API_HEADERS_TOO_LARGE',
        'the request line and the headers are larger than 16 KiB: send fewer or shorter ones',
      );
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return apiErrors.create(
        'ERR_POSTERN_API_REQUEST_TIMEOUT',
        'the request did not arrive completely in time: send it again',
      );
    case 'HPE_INVALID_METHOD': {
      const [, method, url] = REQUEST_LINE.exec(rejectedLine(error)) ?? [];
      return method === undefined || url === undefined ? malformed(error) : refusePath(method, url);
    }
    default:
      return malformed(error);
  }
}

/** The line at which the parser stopped. */
function rejectedLine({ rawPacket, bytesParsed = 0 }: ParserError): string {
  if (rawPacket === undefined) return '';
  const start = bytesParsed === 0 ? 0 : rawPacket.lastIndexOf('\n', bytesParsed - 1) + 1;
  const end = rawPacket.indexOf('\n', start);
  return end === -1 ? '' : rawPacket.toString('latin1', start, end);
}

function malformed({ code = 'unknown error' }: ParserError): PosternError {
  return apiErrors.create(
    'ERR_POSTERN_BAD_REQUEST',
    `the request is not well-formed HTTP/1.1 (${code}): check the request line, the headers and the framing of the body`,
  );
}
