import type { ConnectionFacts } from '../connections/connection-facts.ts';
import type { EarlyAnswer } from '../forwarding/early-answers.ts';
import type { ResponseWriter } from '../http/response-writer.ts';
import type { AcmeChallenge } from '../tls/acme-challenges.ts';

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
