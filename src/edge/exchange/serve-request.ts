import { answerOrCut } from '../answers/answer-or-cut.ts';
import { errorPage } from '../answers/error-page.ts';
import type { ConnectionFacts } from '../connections/connection-facts.ts';
import type { EdgeRuntime } from '../edge-runtime.ts';
import { edgeErrors } from '../errors.ts';
import type { IncomingRequest } from '../http/incoming-request.ts';
import { Exchange } from './exchange.ts';

/** Starts an exchange for a request that can be parsed, and rejects any other. */
export function serveRequest(runtime: EdgeRuntime, connection: ConnectionFacts, request: IncomingRequest): void {
  const { reading, writer, source, trailers, isBodyWhole } = request;
  if (reading.ok) {
    new Exchange(runtime, connection, { head: reading.head, writer, source, trailers, isBodyWhole }).start();
    return;
  }
  const { code, message } = reading;
  const { status } = edgeErrors.rows[code];
  const id = runtime.newRequestId(runtime.clock.nowMs());
  const { headers, body } = errorPage(
    { status, code, message: `The request was rejected: ${message}.` },
    id,
    request.accept,
  );
  answerOrCut(writer, status, headers, body);
  runtime.unread(connection, { id, status, code, bytesOut: body.length });
}
