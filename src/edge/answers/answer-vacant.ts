import type { ConnectionFacts } from '../connections/connection-facts.ts';
import type { EdgeRuntime } from '../edge-runtime.ts';
import { edgeErrors } from '../errors.ts';
import type { IncomingRequest } from '../http/incoming-request.ts';
import { answerOrCut } from './answer-or-cut.ts';
import { errorPage } from './error-page.ts';

const CODE = 'ERR_POSTERN_NOTHING_HERE';
const ADVICE = [
  'Check the spelling of the address. The tunnel or site may also be offline for the moment.',
  'If this is your tunnel: check that its agent is running, and that it publishes this name.',
];

/**
 * Answers a request for a name below the own domain that nothing serves. The connection ends with it: when the tunnel
 * comes online, its visitors must not stay on a connection without the tunnel's requirements.
 */
export function answerVacant(
  runtime: EdgeRuntime,
  host: string,
  connection: ConnectionFacts,
  request: IncomingRequest,
): void {
  const { status } = edgeErrors.rows[CODE];
  const id = runtime.newRequestId(runtime.clock.nowMs());
  const error = {
    status,
    code: CODE,
    title: 'Nothing is here',
    message: `Nothing is online at ${host}.`,
    advice: ADVICE,
  } as const;
  const { headers, body } = errorPage(error, id, request.accept);
  connection.retire();
  request.source?.resume();
  answerOrCut(request.writer, status, headers, body);
  runtime.unread(connection, { id, status, code: CODE, bytesOut: body.length, host });
}
