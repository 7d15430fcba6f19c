import type { Clock } from '../../../kit/clock.ts';
import type { RequestHistory } from '../../telemetry/requests/request-history.ts';
import { type AdmissionLimit, SETTING_OF_LIMIT } from '../admission.ts';
import { answerOrCut } from '../answers/answer-or-cut.ts';
import { errorPage } from '../answers/error-page.ts';
import type { ClientAddresses, ConnectionFacts } from '../connections/connection-facts.ts';
import { type EdgeErrorCode, edgeErrors } from '../errors.ts';
import type { IncomingRequest } from '../http/incoming-request.ts';
import { PerSecond } from '../limits/per-second.ts';
import { unreadReason } from '../reports/access-log.ts';
import { type RecordingSettings, recordedEarly } from '../reports/request-reports.ts';

/** The response to a request that no route was asked for. */
export interface EarlyAnswer {
  readonly id: string;
  readonly status: number;
  readonly code: EdgeErrorCode | null;
  readonly bytesOut: number;
}

interface EarlyAnswersOptions {
  /** Absent: nobody wants to know of requests. */
  readonly history: Pick<RequestHistory, 'record'> | undefined;
  readonly recording: RecordingSettings;
  readonly addresses: Pick<ClientAddresses, 'of'>;
  readonly clock: Clock;
}

/** For each kind: a flood must not push the requests that were served out of the history. */
const MAX_PER_SECOND = 100;
const NOTHING_DECIDED: readonly never[] = [];
const REDIRECT = 'edge:redirect_to_https';
const CHALLENGE = ['edge', { reason: 'acme_challenge' }] as const;

/** Puts responses into the history that the edge gives before it looks for a route. */
export class EarlyAnswers {
  readonly #options: EarlyAnswersOptions;
  readonly #overloads = new PerSecond(MAX_PER_SECOND);
  readonly #redirects = new PerSecond(MAX_PER_SECOND);
  readonly #challenges = new PerSecond(MAX_PER_SECOND);

  constructor(options: EarlyAnswersOptions) {
    this.#options = options;
  }

  overloaded(connection: ConnectionFacts, request: IncomingRequest, answer: EarlyAnswer, limit: AdmissionLimit): void {
    if (!this.#overloads.take()) return;
    this.#record(connection, request, answer, { edgeId: connection.edgeId, rule: SETTING_OF_LIMIT[limit] });
  }

  /** A redirect to HTTPS, or the refusal of a request without a valid host. */
  redirected(connection: ConnectionFacts, request: IncomingRequest, answer: EarlyAnswer, edgeId: string | null): void {
    if (this.#redirects.take()) this.#record(connection, request, answer, { edgeId, answeredBy: REDIRECT });
  }

  challenged(connection: ConnectionFacts, request: IncomingRequest, answer: EarlyAnswer): void {
    if (this.#challenges.take()) this.#record(connection, request, answer, { passes: CHALLENGE });
  }

  #record(
    { remoteAddress }: ConnectionFacts,
    { reading }: IncomingRequest,
    { id, status, code, bytesOut }: EarlyAnswer,
    { edgeId = null, answeredBy = null, rule = null, passes = NOTHING_DECIDED }: EarlyDecision,
  ): void {
    const { history, recording, addresses, clock } = this.#options;
    // Also while the history is off: then it counts.
    if (history === undefined) return;
    const head = reading.ok ? reading.head : null;
    history.record(
      recordedEarly(
        {
          ...{ id, status, errorCode: code, bytesOut, passes, decidingRule: rule },
          startedAtMs: clock.nowMs(),
          edgeId: edgeId === '' ? null : edgeId,
          clientAddress: head === null ? remoteAddress : addresses.of(remoteAddress, head),
          refusedBy: code === null ? null : `edge:${unreadReason(code)}`,
          answeredBy: code === null ? answeredBy : null,
        },
        head,
        recording,
      ),
    );
  }
}

interface EarlyDecision {
  readonly edgeId?: string | null;
  /** Unless an error says why it was refused. */
  readonly answeredBy?: string | null;
  readonly rule?: string | null;
  readonly passes?: readonly (string | { readonly reason: string })[];
}

const CODE = 'ERR_POSTERN_EDGE_OVERLOADED';
const RETRY_AFTER_SECONDS = '1';
const LOG_EVERY_MS = 10_000;

interface OverloadPorts {
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
