import type { HeaderList } from '../lib/http/header-values.ts';
import type { FinishedSpan, SpanSink } from './span-queue.ts';
import { TraceIds } from './trace-context.ts';

/**
 * Between nodes only, and only for a trace that is recorded: the trace and the span of the tunnel. Clients cannot send it, and the
 * node with the agent removes it.
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
