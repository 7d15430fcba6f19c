import type { ConnectionFacts } from '../connection-facts.ts';
import type { ResponseWriter } from '../http/response-writer.ts';
import type { AcmeChallenge } from '../tls/acme-challenges.ts';

/** Answers http-01 (RFC 8555 §8.3). No body is read, so the connection ends with the response. */
export function answerChallenge(
  { keyAuthorization }: AcmeChallenge,
  connection: ConnectionFacts,
  writer: ResponseWriter,
): void {
  connection.retire();
  writer.answer(200, ['content-type', 'text/plain', 'cache-control', 'no-store'], Buffer.from(keyAuthorization));
}
