import type { ConnectionFacts } from '../connections/connection-facts.ts';
import type { EdgeRuntime } from '../edge-runtime.ts';
import { edgeErrors } from '../errors.ts';
import type { IncomingRequest } from '../http/incoming-request.ts';
import { answerOrCut } from './answer-or-cut.ts';
import { errorPage } from './error-page.ts';

/**
 * Names directly below the server's own domain that nothing serves: mistyped, or of a tunnel that has ended. One
 * wildcard certificate covers them all, so that a scanner's names cost no certificate.
 */
export class VacantNames {
  readonly #suffix: string;
  /** Null for a domain of one label, such as localhost: clients reject a wildcard directly below it. */
  readonly #wildcard: string | null;

  constructor(domain: string) {
    this.#suffix = `.${domain}`;
    this.#wildcard = domain.includes('.') ? `*.${domain}` : null;
  }

  has(host: string): boolean {
    const labelLength = host.length - this.#suffix.length;
    return labelLength > 0 && host.endsWith(this.#suffix) && host.indexOf('.') === labelLength;
  }

  /** The name of the certificate for this host; null: it gets an alert, like any other unknown name. */
  certificateNameOf(host: string): string | null {
    return this.has(host) ? this.#wildcard : null;
  }
}

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
