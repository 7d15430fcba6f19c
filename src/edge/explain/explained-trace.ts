import type { HeaderList } from '../../lib/http/header-values.ts';
import { formatTraceparent, traceParentOf, writeTraceContext } from '../../tracing/trace-context.ts';
import type { ForwardableRequest } from '../forwarding/forwarded-request.ts';

/** No trace has this id, and no span. */
const [NO_TRACE, NO_SPAN] = ['0'.repeat(32), '0'.repeat(16)];

/** Shows that the upstream gets a trace context, with an id only if the client sent it: nothing is recorded. */
export function explainedTrace(headers: HeaderList): NonNullable<ForwardableRequest['trace']> {
  const { traceId = NO_TRACE, state = null } = traceParentOf(headers) ?? {};
  return {
    forHop: undefined,
    writeTo: (into) => writeTraceContext(into, formatTraceparent(traceId, NO_SPAN, false), state),
  };
}
