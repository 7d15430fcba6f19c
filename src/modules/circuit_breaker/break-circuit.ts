import type { Pass, Refusal, Verdict } from '../contract/decides.ts';
import type { PreparePorts } from '../contract/prepare.ts';
import type { PreparedModule } from '../contract/prepared-module.ts';
import { type CircuitBreakerConfig, type CircuitLimits, clientOf, limitsOf } from './circuit-breaker-config.ts';
import type { CircuitBreakerRuntime, HeldCircuit } from './circuit-breaker-runtime.ts';
import { nextOf } from './circuit-state.ts';

const CLOSED: Pass = { isPass: true, reason: 'closed' };
const PROBE: Pass = { isPass: true, reason: 'probe', decision: 'allow_while_open' };

/** The hooks of a route. The circuit is claimed by the first request, so that an explanation changes nothing. */
export function breakCircuit(
  config: CircuitBreakerConfig,
  place: PreparePorts['place'],
  runtime: CircuitBreakerRuntime | null,
): Pick<PreparedModule, 'judge' | 'admit' | 'settled'> {
  if (runtime === null) return { judge: () => CLOSED };
  const limits = limitsOf(config);
  runtime.prepared(place, limits);
  let held: HeldCircuit | null = null;
  const hold = (): HeldCircuit => {
    held ??= runtime.hold(place, limits);
    return held;
  };
  return {
    judge: (request) => wouldBe(place.routeId ?? '', limits, runtime, clientOf(request)),
    admit: (request) => {
      const admission = runtime.admit(hold(), request);
      if (admission === 'pass') return CLOSED;
      return 'probe' in admission ? PROBE : refusal(admission.retryAfterMs);
    },
    settled: (request, outcome) => {
      // Nobody asked it: a module before it refused the request.
      if (held !== null) runtime.settled(held, request, outcome);
    },
  };
}

function wouldBe(
  routeId: string,
  limits: CircuitLimits,
  { memory, nowMs }: CircuitBreakerRuntime,
  client: number,
): Verdict {
  const { next } = nextOf(memory, routeId, limits, nowMs, client);
  if (next === 'pass') return CLOSED;
  return next === 'probe' ? PROBE : refusal(next);
}

function refusal(retryAfterMs: number): Refusal {
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1000));
  return {
    status: 503,
    code: 'ERR_POSTERN_CIRCUIT_OPEN',
    message: 'The service behind this site is failing, so requests are refused for a moment. Try again later.',
    reason: 'open',
    headers: ['retry-after', String(seconds)],
  };
}
