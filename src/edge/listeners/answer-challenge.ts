import type { ConnectionFacts } from '../connection-facts.ts';
import type { ResponseWriter } from '../http/response-writer.ts';
import type { AcmeChallenge } from '../tls/acme-challenges.ts';

/** Answers http-01 (RFC 8555 §8.3). No body is read, so the connection ends with the response. */
export function answerChallenge(
  { keyAuthorization }: AcmeChallenge,
  connection: ConnectionFacts,
  writer: ResponseWriter,
  requestId: string,
): void {
  connection.retire();
  const headers = ['content-type', 'text/plain', 'cache-control', 'no-store', 'postern-request-id', requestId];
  writer.answer(200, headers, Buffer.from(keyAuthorization));
}
