import Type from 'typebox';
import { defineModule } from '../contract/module.ts';
import { circuitBreakerAgentForm } from './agent-form.ts';
import { breakCircuit } from './break-circuit.ts';
import { type CircuitBreakerConfig, circuitBreakerConfig } from './circuit-breaker-config.ts';
import { CircuitBreakerRuntime } from './circuit-breaker-runtime.ts';
import { circuitEvents } from './circuit-events.ts';
import { circuitStateOf } from './circuit-state.ts';
import { CircuitTable } from './circuit-table.ts';
import { circuitBreakerErrors } from './errors.ts';

/** Refuses requests while the backend fails. */
export const circuitBreaker = defineModule({
  name: 'circuit_breaker',
  level: 'route',
  decidesAccess: false,
  readsPath: false,
  title: 'Circuit breaker module',
  description:
    'Refuses requests with 503 for a while after too many requests to the backend have failed. Each node counts for itself.',
  config: circuitBreakerConfig,
  example: { error_threshold_percentage: 0.5 },
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
  errors: { title: 'Traffic: circuit breakers', rows: circuitBreakerErrors.rows },
  prepare: (config, { place, runtime }) => ({ ok: true, prepared: breakCircuit(config, place, runtime) }),
});
