import { writeTraceContext } from './trace-context.ts';

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
