import type { Clock } from '../../../kit/clock.ts';
import type { RecordedRequest } from '../../telemetry/requests/recorded-request.ts';
import type { RequestHistory } from '../../telemetry/requests/request-history.ts';
import type { EdgeErrorCode } from '../errors.ts';
import type { RequestHead } from '../http/request-head.ts';
import { PerSecond } from '../limits/per-second.ts';
import { UNKNOWN_NAME } from './access-log.ts';
import { type RecordingSettings, recordedEarly } from './record-request.ts';

export interface UnknownNamesOptions {
  /** Absent: nobody wants to know of requests. */
  readonly history: Pick<RequestHistory, 'recordUnknownName' | 'tally'> | undefined;
  /** Null: no line per request. */
  readonly accessLog: ((line: Record<string, unknown>) => void) | null;
  readonly recording: RecordingSettings;
  readonly clock: Clock;
  readonly newRequestId: () => string;
}

/** A response to a request for a name that no site has. */
export interface UnknownNameAnswer {
  readonly id: string;
  readonly status: number;
  readonly code: EdgeErrorCode;
  readonly bytesOut: number;
}

/** A million invented names are a few rows, while a mistyped one is seen. */
const MAX_PER_SECOND = 5;
const NO_RESPONSE = { status: 0, errorCode: null, bytesOut: 0 } as const;
const NOTHING_DECIDED: readonly never[] = [];

/** Shows administrators the names that strangers ask for and no site has: a mistyped host, or DNS records without a site. */
export class UnknownNames {
  readonly #options: UnknownNamesOptions;
  readonly #shown = new PerSecond(MAX_PER_SECOND);

  constructor(options: UnknownNamesOptions) {
    this.#options = options;
  }

  /** A TLS handshake, which got an alert: no request was read. */
  handshake(name: string, clientAddress: string): void {
    if (!this.#shown.take()) return;
    const { newRequestId } = this.#options;
    this.#log(this.#record({ id: newRequestId(), clientAddress, ...NO_RESPONSE }, name, null));
  }

  request(head: RequestHead, clientAddress: string, answer: UnknownNameAnswer): void {
    const facts = this.#counted(answer);
    if (this.#shown.take()) this.#log(this.#record({ ...facts, clientAddress }, head.host, head));
  }

  /** A name below the own domain. Its line is in the log already. */
  vacant(host: string, clientAddress: string, answer: UnknownNameAnswer): void {
    const facts = this.#counted(answer);
    if (this.#shown.take()) this.#record({ ...facts, clientAddress }, host, null);
  }

  #counted({ id, status, code, bytesOut }: UnknownNameAnswer) {
    this.#options.history?.tally({ edgeId: null, routeId: null, status, durationMs: 0, bytesIn: 0, bytesOut });
    return { id, status, errorCode: code, bytesOut };
  }

  #record(
    facts: Pick<RecordedRequest, 'id' | 'clientAddress' | 'status' | 'errorCode' | 'bytesOut'>,
    host: string,
    head: RequestHead | null,
  ): RecordedRequest {
    const { history, clock, recording } = this.#options;
    const ended = { refusedBy: UNKNOWN_NAME, answeredBy: null, decidingRule: null, passes: NOTHING_DECIDED };
    const early = recordedEarly({ ...facts, ...ended, startedAtMs: clock.nowMs(), edgeId: null }, head, recording);
    const recorded = { ...early, host };
    history?.recordUnknownName(recorded);
    return recorded;
  }

  #log({ id, method, host, path, status, clientAddress, bytesOut, errorCode }: RecordedRequest): void {
    this.#options.accessLog?.({
      ...{ request_id: id, method, host, path, status, client: clientAddress, edge: null, route: null, upstream: null },
      ...{ bytes_in: 0, bytes_out: bytesOut, ms: 0 },
      ...(errorCode !== null && { error_code: errorCode }),
      refused_by: UNKNOWN_NAME,
    });
  }
}
