import { answerOrCut } from '../answers/answer-or-cut.ts';
import { errorPage } from '../answers/error-page.ts';
import type { ConnectionFacts } from '../connections/connection-facts.ts';
import { edgeErrors } from '../errors.ts';
import type { EarlyAnswers } from '../forwarding/early-answers.ts';
import type { IncomingRequest } from '../http/incoming-request.ts';
import { type AdmissionLimit, SETTING_OF_LIMIT } from './admission.ts';

const CODE = 'ERR_POSTERN_EDGE_OVERLOADED';
const RETRY_AFTER_SECONDS = '1';
const LOG_EVERY_MS = 10_000;

export interface OverloadPorts {
  newRequestId(): string;
  refused(limit: AdmissionLimit): void;
  readonly answers: Pick<EarlyAnswers, 'overloaded'>;
  warn(fields: object, message: string): void;
}

/** Rejects requests beyond the limits as cheaply as possible: no route, no module, no log line per request. */
export class OverloadRefusals {
  readonly #ports: OverloadPorts;
  #loggedAtMs = Number.NEGATIVE_INFINITY;

  constructor(ports: OverloadPorts) {
    this.#ports = ports;
  }

  refuse(connection: ConnectionFacts, request: IncomingRequest, limit: AdmissionLimit): void {
    const { writer, source, accept } = request;
    const { status } = edgeErrors.rows[CODE];
    const message = 'This server is overloaded. Try again in a moment.';
    const error = { status, code: CODE, message, headers: ['retry-after', RETRY_AFTER_SECONDS] } as const;
    const id = this.#ports.newRequestId();
    const { headers, body } = errorPage(error, id, accept);
    source?.resume();
    answerOrCut(writer, status, headers, body);
    this.#ports.refused(limit);
    this.#ports.answers.overloaded(connection, request, { id, status, code: CODE, bytesOut: body.length }, limit);
    const nowMs = performance.now();
    if (nowMs - this.#loggedAtMs < LOG_EVERY_MS) return;
    this.#loggedAtMs = nowMs;
    this.#ports.warn({ setting: SETTING_OF_LIMIT[limit], limit }, 'rejecting requests: too many are in progress');
  }
}
