import type { HeaderList } from '../../kit/http/header-values.ts';
import type { FinishedSpan, SpanSink } from './span-queue.ts';
import { formatTraceparent, TraceIds, type TraceParent, writeTraceContext } from './trace-context.ts';

/** One attempt to send a request to a target. Times are those of `performance.now()`. */
export interface Attempt {
  readonly spanId: string;
  /** Null without a tunnel. */
  readonly tunnelSpanId: string | null;
  readonly target: string;
  readonly startedAt: number;
  /** 0: the attempt lasted until the request ended. */
  endedAt: number;
  failure: string | null;
  /** The other node that passed the request on to its agent. */
  node: string | null;
}

export type RequestTrace = RecordedTrace | UnrecordedTrace;

const NONE: readonly never[] = [];

/**
 * The trace of one request that is recorded. Ids are chosen while the request is handled, because upstreams and other
 * nodes need them. Spans are made when it has ended.
 */
export class RecordedTrace {
  readonly traceId: string;
  readonly spanId: string;
  readonly parent: TraceParent | null;
  readonly ids: TraceIds;
  attempts: readonly Attempt[] = NONE;

  constructor(traceId: string, parent: TraceParent | null, ids: TraceIds) {
    this.traceId = traceId;
    this.parent = parent;
    this.spanId = ids.spanId();
    this.ids = ids;
  }

  attempt(target: string, isTunnel: boolean): void {
    const attempt: Attempt = {
      spanId: this.ids.spanId(),
      tunnelSpanId: isTunnel ? this.ids.spanId() : null,
      target,
      startedAt: performance.now(),
      endedAt: 0,
      failure: null,
      node: null,
    };
    this.attempts = [...this.attempts, attempt];
  }

  /** The last attempt is over: the request failed, or is sent to another target. */
  attemptFailed(failure: string, node: string | null): void {
    const attempt = this.attempts.at(-1);
    if (attempt === undefined) return;
    attempt.endedAt = performance.now();
    attempt.failure = failure;
    attempt.node = node;
  }

  /** The upstream's own span becomes a child of the attempt's. */
  writeTo(headers: string[]): void {
    const spanId = this.attempts.at(-1)?.spanId ?? this.spanId;
    writeTraceContext(headers, formatTraceparent(this.traceId, spanId, true), this.parent?.state ?? null);
  }

  /** For the node that passes the request on to its agent; undefined without a tunnel. */
  get forHop(): string | undefined {
    const spanId = this.attempts.at(-1)?.tunnelSpanId ?? null;
    return spanId === null ? undefined : `${this.traceId}-${spanId}`;
  }
}

/** The trace of a request that is not recorded: only the upstream gets its ids. */
export class UnrecordedTrace {
  readonly forHop = undefined;
  readonly #traceparent: string;
  readonly #state: string | null;

  constructor(traceparent: string, state: string | null) {
    this.#traceparent = traceparent;
    this.#state = state;
  }

  attempt(): void {}

  attemptFailed(): void {}

  writeTo(headers: string[]): void {
    writeTraceContext(headers, this.#traceparent, this.#state);
  }
}

/**
 * Between nodes only, and only for a trace that is recorded: the trace and the span of the tunnel. Clients cannot send
 * it, and the node with the agent removes it.
 */
export const HOP_TRACE_HEADER = 'postern-trace';

const FORM = /^((?!0{32})[0-9a-f]{32})-((?!0{16})[0-9a-f]{16})$/;

export function withoutHopTrace(raw: HeaderList): HeaderList {
  return raw.filter((_, at) => raw[at - (at % 2)] !== HOP_TRACE_HEADER);
}

/** The part of a trace at a node that passes a request on to its agent. */
export class HopTracing {
  readonly #sink: SpanSink;
  readonly #nowMs: () => number;
  readonly #ids = new TraceIds();

  constructor(sink: SpanSink, nowMs: () => number) {
    this.#sink = sink;
    this.#nowMs = nowMs;
  }

  /** Null when the other node sent something else. */
  begin(given: unknown, tunnelId: string): HopTrace | null {
    const [, traceId, parentSpanId] = (typeof given === 'string' ? FORM.exec(given) : null) ?? [];
    if (traceId === undefined || parentSpanId === undefined) return null;
    const startMs = this.#nowMs();
    const startedAt = performance.now();
    return new HopTrace((outcome) => {
      this.#sink.send([
        {
          ...{ name: 'hop', kind: 'server', traceId, spanId: this.#ids.spanId(), parentSpanId, isParentRemote: true },
          ...{ startMs, endMs: startMs + performance.now() - startedAt, ...outcome },
          attributes: { 'postern.tunnel': tunnelId, ...outcome.attributes },
        },
      ]);
    });
  }
}

type HopOutcome = Pick<FinishedSpan, 'attributes' | 'isError'>;

export class HopTrace {
  readonly #finish: (outcome: HopOutcome) => void;
  #status = 0;

  constructor(finish: (outcome: HopOutcome) => void) {
    this.#finish = finish;
  }

  answered(status: unknown): void {
    this.#status = Number(status);
  }

  /** Called once. */
  ended(isWhole: boolean): void {
    const status = this.#status;
    this.#finish({
      attributes: {
        ...(status > 0 && { 'http.response.status_code': status }),
        ...(!isWhole && { 'error.type': 'truncated' }),
      },
      isError: !isWhole,
    });
  }
}
