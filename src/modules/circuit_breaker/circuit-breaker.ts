import Type from 'typebox';
import type { AgentForm } from '../contract/agent-form.ts';
import type { Pass, Refusal, Verdict } from '../contract/decides.ts';
import { defineModule } from '../contract/module.ts';
import type { PreparePorts } from '../contract/prepare.ts';
import type { PreparedModule } from '../contract/prepared-module.ts';
import {
  type CircuitBreakerConfig,
  type CircuitLimits,
  circuitBreakerConfig,
  clientOf,
  limitsOf,
} from './circuit-breaker-config.ts';
import { CircuitBreakerRuntime, circuitEvents, type HeldCircuit } from './circuit-breaker-runtime.ts';
import { CircuitTable, circuitStateOf, nextOf } from './circuit-table.ts';
import { circuitBreakerErrors } from './errors.ts';
import { circuitBreakerSettings } from './settings.ts';

const circuitBreakerAgentForm: AgentForm = {
  order: 12,
  key: 'circuit_breaker',
  shape: 'map',
  protocols: ['https', 'http'],
  fields: [
    {
      name: 'error_threshold_percentage',
      example: '0.5',
      isNeeded: true,
      flag: {
        name: 'circuit-breaker',
        hint: 'SHARE',
        description: 'Refuse requests while this share of them fails, from 0 to 1.',
      },
    },
    { name: 'tripped_duration', example: '10s', unit: 'seconds' },
    { name: 'rolling_window', example: '10s', unit: 'seconds' },
    { name: 'num_buckets', example: '10' },
    { name: 'volume_threshold', example: '20' },
  ],
  summary: ['circuit breaker at {error_threshold_percentage}'],
};

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

/** Refuses requests while the backend fails. */
export const circuitBreaker = defineModule({
  name: 'circuit_breaker',
  on: ['requests'],
  decidesAccess: false,
  readsPath: false,
  title: 'Circuit breaker module',
  description:
    'Refuses requests with 503 for a while after too many requests to the backend have failed. Each node counts for itself.',
  config: circuitBreakerConfig,
  example: { error_threshold_percentage: 0.5 },
  settings: circuitBreakerSettings,
  nodeMemory: {
    create: () => CircuitTable.memory(),
    threadEnded: (memory, thread) => CircuitTable.threadEnded(memory, thread),
  },
  createRuntime: (ports) => Promise.resolve(new CircuitBreakerRuntime(ports)),
  agent: { form: circuitBreakerAgentForm },
  reasons: {
    closed: 'The circuit is closed: the backend serves requests.',
    probe: 'The circuit is half-open: this request may probe the backend.',
    open: 'The circuit is open: the backend has failed too often.',
  },
  otherDecisions: ['allow_while_open'],
  events: circuitEvents,
  live: {
    schema: {
      state: Type.Optional(
        Type.Enum(['closed', 'open', 'half_open'], {
          description:
            'The circuit on the node that responds: "closed" (requests pass), "open" (they are refused) or "half_open" (one at a time probes the backend). Read-only: a value that is sent is ignored.',
        }),
      ),
    },
    read: (config, { routeId }, { memory, nowMs }) => ({
      state: circuitStateOf(memory, routeId ?? '', config as unknown as CircuitBreakerConfig, nowMs).state,
    }),
  },
  watched: {
    isOn: (config, { routeId }, { memory, nowMs }) =>
      circuitStateOf(memory, routeId ?? '', config as unknown as CircuitBreakerConfig, nowMs).state !== 'closed',
    gauge: {
      name: 'postern_circuit_open',
      help: 'Whether the circuit breaker of a route refuses requests on this node: 1 while it is open or half-open.',
    },
    alert: {
      code: 'circuit_open',
      advice:
        'repair the service behind the route: postern requests shows what fails. The circuit closes when the service serves a request again, or when its module is changed, disabled or deleted',
      setting: 'alert_circuit_open',
      title: ({ route, node }) => `the circuit of ${route} is open on ${node}: its backend fails`,
    },
  },
  errors: { title: 'Traffic: circuit breakers', rows: circuitBreakerErrors.rows },
  prepare: (config, { place, runtime }) => ({ ok: true, prepared: breakCircuit(config, place, runtime) }),
});
