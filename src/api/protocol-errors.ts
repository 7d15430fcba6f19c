import type { Server as HttpServer, IncomingMessage, ServerResponse } from 'node:http';
import type { Server as HttpsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { PosternError } from '../lib/errors.ts';
import { closing, type ListenerOwner, listenPer } from '../lib/guarded-listeners.ts';
import { apiErrors } from './errors.ts';
import { type ParserError, parserRefusal, type RefusePath } from './parser-error.ts';
import type { PlainRefusals } from './plain-refusals.ts';

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

/** Its body is still arriving, so the error concerns this request. A response behind others has no socket yet. */
function isReading(response: ServerResponse): boolean {
  return !response.req.complete && !response.headersSent && response.socket !== null;
}

function expectationFailed(): PosternError {
  return apiErrors.create(
    'ERR_POSTERN_EXPECTATION',
    'the only supported expectation is "100-continue": remove the Expect header',
  );
}
